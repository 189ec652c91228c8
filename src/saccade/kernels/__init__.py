"""Fast code, one folder an operation. Tests hold each against its definition, here in `naive.py` or in the tests."""

from saccade.kernels.ways import plain

__all__ = ["plain"]
