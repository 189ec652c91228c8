"""Kernels in C for one thread of a CPU, built by the machine's own compiler when they are first needed."""

from saccade.kernels.native.library import coarse_products, library

__all__ = ["coarse_products", "library"]
