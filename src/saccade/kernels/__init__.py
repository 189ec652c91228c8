"""Fast code, one folder an operation, each with its slow and obvious twin in `naive.py`."""

from saccade.kernels.ways import plain

__all__ = ["plain"]
