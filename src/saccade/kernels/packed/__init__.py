"""x Wᵀ + b with constant weights, packed once for the processor."""

from saccade.kernels.packed.naive import PlainProduct, Product
from saccade.kernels.packed.prepacked import Precision, int8_reason, pack

__all__ = ["PlainProduct", "Precision", "Product", "int8_reason", "pack"]
