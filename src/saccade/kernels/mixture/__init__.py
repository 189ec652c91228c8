"""The output of a pointer-generator: a mixture of words of the vocabulary and copies of source words."""

from saccade.kernels.mixture.choose import mixture
from saccade.kernels.mixture.naive import naive_mixture

__all__ = ["mixture", "naive_mixture"]
