"""x Wᵀ + b with weights that stay the same for many products: packed once, as the machine likes them."""

from saccade.kernels.packed.naive import PlainProduct, Product
from saccade.kernels.packed.products import Precision, int8_reason, pack

__all__ = ["PlainProduct", "Precision", "Product", "int8_reason", "pack"]
