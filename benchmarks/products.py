"""Matmuls with constant weights on one core: torch's packed ones and our C kernels; a JSON line for each.

    python benchmarks/products.py

The shapes of a Transformer's decoding step (width 256, feed-forward width 1024, 8000 words), for one sentence with a
beam of 5, for 32 sentences, and for 32 with a beam of 5. Median µs, and GFLOP/s.
"""

from __future__ import annotations

import json
import statistics
import time

import torch
import torch.nn.functional as F

from saccade.kernels.native import coarse_products, library
from saccade.kernels.native.gemm import NativeProduct
from saccade.kernels.packed.naive import Product
from saccade.kernels.packed.prepacked import Int8Product, OneDNNProduct

SHAPES = ((256, 256), (256, 768), (256, 1024), (1024, 256), (256, 8000))


def microseconds(product: Product, x: torch.Tensor) -> float:
    for _ in range(20):
        product(x)
    times = []
    for _ in range(200):
        began = time.perf_counter()
        product(x)
        times.append(time.perf_counter() - began)
    return 1e6 * statistics.median(times)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for rows in (5, 32, 160):
        for inputs, outputs in SHAPES:
            x, weight, bias = torch.randn(rows, inputs), torch.randn(outputs, inputs) * 0.1, torch.randn(outputs)
            ways: dict[str, Product] = {
                "oneDNN": OneDNNProduct(weight, bias, rows),
                "int8, torch": Int8Product(weight, bias),
            }
            if library() is not None:
                ways["ours"] = NativeProduct(weight, bias, coarse=False)
            if coarse_products():
                ways["int8, ours"] = NativeProduct(weight, bias, coarse=True)
            exact = F.linear(x, weight, bias)
            for name, product in ways.items():
                took = microseconds(product, x)
                error = ((product(x) - exact).norm() / exact.norm()).item()
                line = {"case": f"{rows} x {inputs} x {outputs}, {name}", "us": round(took, 1)}
                speed = 2 * rows * inputs * outputs / took / 1e3
                print(json.dumps({**line, "gflop_per_s": round(speed, 1), "error": float(f"{error:.1e}")}), flush=True)


if __name__ == "__main__":
    main()
