"""Sequence-to-sequence models with attention: train them, run them, and see where they look.

Importing this package loads no torch; `saccade.attention`, `saccade.models` and `saccade.search` do.
"""

from saccade._cpu import keep_onednn_off_amx

__all__ = ["__version__"]
__version__ = "0.1.0"

keep_onednn_off_amx()
