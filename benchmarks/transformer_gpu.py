"""A Transformer's training step on a GPU, and its kernels; a JSON line for each result.

    python benchmarks/transformer_gpu.py                    # everything: some minutes, mostly Triton compilation
    python benchmarks/transformer_gpu.py check ops          # or some of: check, ops, step, profile
    python benchmarks/transformer_gpu.py step --sentences 128

check    each kernel on random inputs: relative error against float64, compared with torch's operations in the same
         precision; exits with an error if one is more than twice as far off
ops      each kernel and torch's operations, forward and both passes, as CUDA graph replays without Python's overhead:
         ms (median), and GB/s of the minimal memory traffic, or TFLOP/s. `share` is the fraction of the rate of a plain
         copy, or of a large matmul, in the same run; inputs that fit into the cache can exceed 1
step     the base model (6+6 layers, width 512, feed-forward 2048, 8 heads, 32000 words, dropout 0.1), bfloat16
         autocast, one step of Adam: with our kernels and with torch's (kernels.disable_fused()); through the
         objective, as in training, and without removing padding, which also allows a CUDA graph
profile  GPU time of that step by kernel
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from limits import operations_of, share_of_copying, share_of_products
from torch import Tensor, nn

from saccade import kernels
from saccade.batch import PAD, Batch
from saccade.kernels.cross_entropy import cross_entropy
from saccade.kernels.dot import fused_attention
from saccade.kernels.residual import residual_and_norm, residual_norm
from saccade.kernels.residual.naive import naive_residual_norm
from saccade.models import build_seq2seq
from saccade.train.objective import WordLoss, losses_of

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))  # for the reference implementations
from helpers.naive_kernels import naive_attention, naive_cross_entropy, naive_feed_forward, naive_linear

DEVICE = "cuda"
HALF = torch.bfloat16
EPS = 1e-5
Step = Callable[[], Any]


def say(**line: Any) -> None:
    print(json.dumps({key: round(value, 6) if isinstance(value, float) else value for key, value in line.items()}))
    sys.stdout.flush()


def numbers(*shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> Tensor:
    return (scale * torch.randn(shape, device=DEVICE)).to(dtype)


# ---- check


def with_gradients(way: Callable[..., Any], parts: list[Tensor], gradients: list[Tensor]) -> list[Tensor]:
    leaves = [part.detach().clone().requires_grad_() for part in parts]
    made = way(*leaves)
    made = made if isinstance(made, tuple) else (made,)
    grads = torch.autograd.grad(
        made, leaves, [gradient.to(one.dtype) for one, gradient in zip(made, gradients, strict=True)]
    )
    return [*(one.detach() for one in made), *grads]


def error(found: Tensor, truth: Tensor) -> float:
    return ((found.double() - truth).norm() / truth.norm().clamp_min(1e-12)).item()


def compare(
    name: str, ours: Callable[..., Any], naive: Callable[..., Any], parts: list[Tensor], dtype: torch.dtype, shapes: Any
) -> bool:
    """Compare ours and the reference in `dtype` with the reference in float64, on the same (rounded) inputs."""
    gradients = [numbers(*shape, dtype=dtype) for shape in shapes]
    truth = with_gradients(naive, [part.double() for part in parts], [gradient.double() for gradient in gradients])
    usual = with_gradients(naive, [part.to(dtype) for part in parts], gradients)
    found = with_gradients(ours, parts, gradients)
    fine = True
    for place, (one, other, exact) in enumerate(zip(found, usual, truth, strict=True)):
        off, limit = error(one, exact), max(2 * error(other, exact), 4 * torch.finfo(dtype).eps)
        fine &= off <= limit
        say(check=name, dtype=str(dtype)[6:], result=place, error=off, by_torch=error(other, exact), ok=off <= limit)
    return fine


def checks() -> bool:
    from saccade.kernels.columns.fused import column_sums, gate_
    from saccade.kernels.feed_forward.fused import fused_feed_forward
    from saccade.kernels.linear.fused import fused_linear

    fine = True
    for dtype in (torch.float32, HALF):
        for rows, width in ((1, 512), (777, 512), (300, 1000), (64, 24)):
            x, out, weight, bias = (numbers(*shape) for shape in ((rows, width), (rows, width), (width,), (width,)))
            parts = [x.to(dtype), out.to(dtype), weight.to(dtype).float(), bias.to(dtype).float()]
            shape = (rows, width)
            fine &= compare(
                f"residual_norm {rows}x{width}",
                lambda *parts: residual_norm(*parts, EPS, 0.0, True),
                lambda *parts: naive_residual_norm(*parts, EPS, 0.0, True)[1],
                parts, dtype, [shape],
            )  # fmt: skip
            fine &= compare(
                f"residual_and_norm {rows}x{width}",
                lambda *parts: residual_and_norm(*parts, EPS, 0.0, True),
                lambda *parts: naive_residual_norm(*parts, EPS, 0.0, True),
                parts, dtype, [shape, shape],
            )  # fmt: skip
            layer = [numbers(rows, width), numbers(96, width), numbers(96)]
            fine &= compare(
                f"linear {rows}x{width}",
                lambda *parts, dtype=dtype: fused_linear(*parts, dtype),
                naive_linear, layer, dtype, [(rows, 96)],
            )  # fmt: skip
            feed = [numbers(*shape) for shape in ((rows, width), (136, width), (136,), (width, 136), (width,))]
            fine &= compare(
                f"feed_forward {rows}x{width}",
                lambda *parts, dtype=dtype: fused_feed_forward(*parts, dtype),
                naive_feed_forward, feed, dtype, [shape],
            )  # fmt: skip
            narrow = x.to(dtype)
            off = error(column_sums(narrow), narrow.double().sum(0))
            inner = out.relu().to(dtype)
            gated = torch.where(inner <= 0, 0, narrow.double())
            sums = gate_(narrow, inner)
            off = max(off, error(sums, gated.sum(0)), error(narrow, gated))
            say(check=f"columns {rows}x{width}", dtype=str(dtype)[6:], error=off, ok=off < 1e-5)
            fine &= off < 1e-5
        fine &= check_loss(dtype)
    fine &= check_attention()
    return fine & check_dropout()


def check_loss(dtype: torch.dtype) -> bool:
    """Check the loss with padding rows, several chunks, and a vocabulary of several blocks and no power of two."""
    fine = True
    for rows, width, classes in ((1000, 512, 10007), (64, 40, 32000), (3, 8, 5)):
        hidden, weight, bias = numbers(rows, width), numbers(classes, width, scale=width**-0.5), numbers(classes)
        expected = torch.randint(0, classes, (rows,), device=DEVICE)
        expected[1::3] = nn.functional.linear(hidden, weight, bias).argmax(-1)[1::3]
        expected[::3] = PAD

        def loss(way: Any, chunk: dict[str, int], expected: Tensor = expected) -> Callable[..., Tensor]:
            return lambda *parts: way(*parts, expected, smoothing=0.1, **chunk).smoothed

        fine &= compare(
            f"cross_entropy {rows}x{width}x{classes}",
            loss(cross_entropy, {"chunk": 333}), loss(naive_cross_entropy, {}),
            [part.to(dtype) for part in (hidden, weight, bias)], dtype, [()],
        )  # fmt: skip
        ours, truth = (
            way(*(part.to(kind) for part in (hidden, weight, bias)), expected)
            for way, kind in ((cross_entropy, torch.float32), (naive_cross_entropy, torch.float64))
        )
        same = int(ours.correct) == int(truth.correct)
        say(check="correct", found=int(ours.correct), truth=int(truth.correct), ok=same)
        fine &= same
    return fine


def check_attention() -> bool:
    fine = True
    for length, size, width in ((64, 64, 64), (17, 40, 64), (128, 128, 64), (100, 33, 24)):
        parts = [numbers(8, 4, n, width, dtype=HALF) for n in (length, size, size)]
        padding = (torch.arange(size, device=DEVICE) < torch.randint(1, size + 1, (8, 1), device=DEVICE))[:, None, None]
        causal = torch.ones(1, 1, length, size, dtype=torch.bool, device=DEVICE).tril()
        for name, mask, sight in (("open", None, "any"), ("padding", padding, "some"), ("causal", causal, "causal")):
            if sight == "causal" and length != size:
                continue
            fine &= compare(
                f"attention {length}x{size}x{width} {name}",
                lambda *parts, mask=mask, sight=sight: fused_attention(*parts, mask, 0.2, sight=sight),
                lambda *parts, mask=mask: naive_attention(*parts, mask, 0.2),
                parts, HALF, [(8, 4, length, width)],
            )  # fmt: skip
    return fine


def check_dropout() -> bool:
    """Check the share of dropped elements, and that both passes drop the same ones."""
    x, weight, bias = numbers(4096, 512, dtype=HALF), numbers(512), numbers(512)
    out = torch.ones_like(x).requires_grad_()
    made = kernels.residual.residual(torch.zeros_like(x), out, 0.1, True)
    kept = made != 0
    (gradient,) = torch.autograd.grad(made.float().sum(), out)
    share, same = 1 - kept.float().mean().item(), torch.equal(gradient, made.detach())
    say(check="dropout", share=share, same_in_both_passes=same, ok=abs(share - 0.1) < 1e-3 and same)
    return (
        abs(share - 0.1) < 1e-3 and same and residual_norm(x, x, weight, bias, EPS, 0.1, True).isfinite().all().item()
    )


# ---- ops


def time_of(step: Step) -> float:
    """Return the median milliseconds."""
    from triton.testing import do_bench_cudagraph

    return float(do_bench_cudagraph(step, return_mode="median"))


def report(name: str, step: Step, bytes_: float = 0.0, operations: float = 0.0) -> None:
    ms = time_of(step)
    line: dict[str, Any] = {"op": name, "ms": ms}
    if bytes_:
        line |= {"gb_per_s": bytes_ / ms / 1e6, "share": share_of_copying(bytes_, ms)}
    if operations:
        line |= {"tflop_per_s": operations / ms / 1e9, "share": share_of_products(operations, ms)}
    say(**line)


def passes(made: Callable[[], Tensor | list[Tensor]], leaves: list[Tensor]) -> tuple[Step, Step]:
    """Return functions for the forward pass, as in training, and for both passes."""

    def results() -> list[Tensor]:
        found = made()
        return [found] if isinstance(found, Tensor) else list(found)

    gradients = [torch.randn_like(result) for result in results()]
    return results, lambda: torch.autograd.grad(results(), leaves, gradients)


def half_precision() -> torch.autocast:
    """Autocast without weight cache: a CUDA graph must not use weights that another graph has cast."""
    return torch.autocast(DEVICE, HALF, cache_enabled=False)


def ops(rows: int, words: int, width: int, inner: int, classes: int) -> None:
    from saccade.kernels.columns.fused import column_sums, gate_

    size = rows * width * 2  # bytes of one activation tensor
    x, out = (numbers(rows, width, dtype=HALF).requires_grad_() for _ in range(2))
    weight, bias = (numbers(width).requires_grad_() for _ in range(2))
    for name, way in (("ours", nullcontext), ("torch", kernels.disable_fused)):
        for p in (0.0, 0.1):
            with half_precision(), way():
                forward, both = passes(
                    lambda p=p: residual_norm(x, out, weight, bias, EPS, p, True), [x, out, weight, bias]
                )
                report(f"residual_norm p={p}, {name}, forward", forward, 4 * size)
                report(f"residual_norm p={p}, {name}, both", both, (8 if p else 7) * size)
    for columns in (width, inner):
        gradient, made = numbers(rows, columns, dtype=HALF), numbers(rows, columns, dtype=HALF)
        report(f"column_sums {columns}, ours", lambda gradient=gradient: column_sums(gradient), rows * columns * 2)
        report(f"column_sums {columns}, torch", lambda gradient=gradient: gradient.sum(0), rows * columns * 2)
        report(f"gate_ {columns}", lambda gradient=gradient, made=made: gate_(gradient, made), rows * columns * 6)
    attention(x, words)
    layers(x, inner)
    loss(x, classes)


def attention(x: Tensor, words: int) -> None:
    """Measure attention of eight heads: with a padding mask, as in an encoder, and causal."""
    rows, width = x.shape
    joint = numbers(rows // words, words, 3 * width, dtype=HALF).requires_grad_()
    padding = torch.ones(rows // words, 1, 1, words, dtype=torch.bool, device=DEVICE)
    causal = torch.ones(1, 1, words, words, dtype=torch.bool, device=DEVICE).tril()
    size = rows * width * 2
    for mask, sight in ((padding, "some"), (causal, "causal")):
        for name, way in (("ours", nullcontext), ("torch", kernels.disable_fused)):

            def attend(mask: Tensor = mask, sight: Any = sight) -> Tensor:
                parts = (part.unflatten(-1, (8, -1)).transpose(1, 2) for part in joint.split(width, -1))
                return fused_attention(*parts, mask, 0.125, sight=sight)

            with way():
                forward, both = passes(attend, [joint])
                report(f"attention, {sight}, {name}, forward", forward, 4 * size)
                report(f"attention, {sight}, {name}, both", both, 11 * size)


def layers(x: Tensor, inner: int) -> None:
    from saccade.kernels.feed_forward import feed_forward
    from saccade.kernels.linear import together

    rows, width = x.shape
    query = [nn.Linear(width, width, device=DEVICE) for _ in range(3)]
    feed = [nn.Linear(width, inner, device=DEVICE), nn.ReLU(), nn.Linear(inner, width, device=DEVICE)]
    for name, way in (("ours", nullcontext), ("torch", kernels.disable_fused)):
        with half_precision(), way():
            leaves = [x, *(parameter for layer in query for parameter in layer.parameters())]
            forward, both = passes(lambda: together(query, x), leaves)
            flops = 6 * rows * width * width
            report(f"three layers together, {name}, forward", forward, operations=flops)
            report(f"three layers together, {name}, both", both, operations=3 * flops)
            leaves = [x, *(parameter for layer in feed for parameter in layer.parameters())]
            forward, both = passes(lambda: feed_forward(*feed, x), leaves)
            flops = 4 * rows * width * inner
            report(f"feed_forward, {name}, forward", forward, operations=flops)
            report(f"feed_forward, {name}, both", both, operations=3 * flops)


def loss(x: Tensor, classes: int) -> None:
    from saccade.kernels.cross_entropy import fused
    from saccade.kernels.cross_entropy.rows import Target

    rows, width = x.shape
    weight, bias = numbers(classes, width, scale=width**-0.5).requires_grad_(), numbers(classes).requires_grad_()
    expected = torch.randint(1, classes, (rows,), device=DEVICE)
    for name, way in (("ours", nullcontext), ("torch", kernels.disable_fused)):
        with half_precision(), way():
            report(
                f"cross_entropy, {name}",
                lambda: cross_entropy(x, weight, bias, expected, smoothing=0.1),
                operations=6 * rows * width * classes,
            )
    target = Target.smooth(0.1, PAD, classes)
    chunk = fused._rows_at_once(rows, classes, HALF)
    work = fused._Workplace(
        x.detach()[:chunk], weight.detach().to(HALF), bias.detach(), expected[:chunk], target, [1, 1, 1]
    )
    logits = numbers(chunk, classes, dtype=HALF)
    kept = fused.BLOCK, fused.WARPS
    for fused.BLOCK, fused.WARPS in ((2048, 4), (4096, 4), (4096, 8), (8192, 8), (8192, 16), (16384, 16), (32768, 32)):
        report(
            f"cross_entropy's kernel, block {fused.BLOCK}, warps {fused.WARPS}",
            lambda: work._rows(logits, slice(0, chunk)),
            chunk * classes * 4,
        )
    fused.BLOCK, fused.WARPS = kept


# ---- step


def batch_of(sentences: int, words: int, vocabulary: int) -> Batch:
    source, target = (torch.randint(4, vocabulary, (sentences, length), device=DEVICE) for length in (words, words + 1))
    return Batch(source, torch.ones_like(source, dtype=torch.bool), target, torch.ones_like(target, dtype=torch.bool))


def steps(options: argparse.Namespace) -> Iterator[tuple[str, Step]]:
    """Yield implementations of the same step: (name, function)."""
    torch.manual_seed(0)
    sizes = {"width": options.width, "feed_forward": options.inner, "layers": options.layers, "dropout": 0.1}
    model = build_seq2seq("transformer-base", options.vocabulary, options.vocabulary, **sizes).to(DEVICE)
    objective = WordLoss(model, label_smoothing=0.1)
    optimizer = torch.optim.Adam(model.parameters(), 1e-4, (0.9, 0.98), 1e-9, fused=True, capturable=DEVICE == "cuda")
    batch = batch_of(options.sentences, options.words, options.vocabulary)

    def through_objective() -> Tensor:
        return losses_of(objective, batch).total

    def without_selection() -> Tensor:
        vectors = model.hidden_states(batch).flatten(0, 1)
        layer = model.output
        return cross_entropy(vectors, layer.weight, layer.bias, batch.expected.flatten(), smoothing=0.1).smoothed

    def step(total: Callable[[], Tensor]) -> Tensor:
        with torch.autocast(DEVICE, HALF):
            loss = total() / batch.expected.numel()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def plainly() -> Tensor:
        with kernels.disable_fused():
            return step(through_objective)

    yield "torch, objective", plainly
    yield "ours, objective", lambda: step(through_objective)
    yield "ours, without selection", lambda: step(without_selection)
    if DEVICE == "cuda":
        yield "ours, without selection, CUDA graph", captured(lambda: step(without_selection))


def captured(step: Step) -> Step:
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay() -> Tensor:
        graph.replay()
        return loss

    return replay


def measure(options: argparse.Namespace) -> None:
    tokens = options.sentences * options.words
    sizes = {"width": options.width, "feed_forward": options.inner, "layers": options.layers}
    model = build_seq2seq("transformer-base", options.vocabulary, options.vocabulary, **sizes)
    operations = operations_of(model, tokens)  # weight matmuls only; those of attention add a few percent
    ways = steps(options)
    while True:
        try:
            name, step = next(ways)
        except StopIteration:
            return
        except RuntimeError as problem:  # the step could not be captured
            say(step="CUDA graph", failed=str(problem).splitlines()[0])
            return
        for _ in range(3):
            first = float(step())
        torch.cuda.reset_peak_memory_stats()
        times = []
        for _ in range(options.repeats):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            last = step()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        ms = statistics.median(times)
        memory = torch.cuda.max_memory_allocated() / 2**30
        losses = {"loss_before": first, "loss_after": float(last)}
        share = share_of_products(operations, ms)
        say(step=name, ms=ms, tokens_per_s=tokens / ms * 1e3, gib=memory, share=share, **losses)


def profile(options: argparse.Namespace) -> None:
    """Print the kernels of three steps of our implementation, the most expensive first."""
    ways = steps(options)
    next(ways)
    _, step = next(ways)
    for _ in range(3):
        step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiled:
        for _ in range(3):
            step()
        torch.cuda.synchronize()
    events = sorted(profiled.key_averages(), key=lambda event: -event.self_device_time_total)
    say(profile="all", ms=sum(event.self_device_time_total for event in events) / 3e3)
    for event in events[:40]:
        say(kernel=event.key[:110], ms=event.self_device_time_total / 3e3, launches=event.count / 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="check, ops, step, profile; default: all")
    for name, size in {
        "sentences": 512,
        "words": 64,
        "width": 512,
        "inner": 2048,
        "layers": 6,
        "vocabulary": 32000,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    parts = options.parts or ["check", "ops", "step", "profile"]
    torch.manual_seed(0)
    if DEVICE == "cuda":
        say(device=torch.cuda.get_device_name(), torch=torch.__version__)
    fine = checks() if "check" in parts else True
    if "ops" in parts:
        ops(options.sentences * options.words, options.words, options.width, options.inner, options.vocabulary)
    if "step" in parts:
        measure(options)
    if "profile" in parts:
        profile(options)
    if not fine:
        sys.exit("a kernel is less exact than it must be: see the lines with ok: false")


if __name__ == "__main__":
    main()
