"""Single-threaded CPU kernels in C, built by the machine's C compiler on first use."""

from saccade.kernels.native.library import coarse_products, library

__all__ = ["coarse_products", "library"]
