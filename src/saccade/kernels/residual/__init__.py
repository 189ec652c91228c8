"""x + Dropout(out) and LayerNorm, fused into one pass on a GPU."""

from saccade.kernels.residual.choose import (
    layer_norm,
    residual,
    residual_and_norm,
    residual_norm,
    residual_norm_twice,
)

__all__ = ["layer_norm", "residual", "residual_and_norm", "residual_norm", "residual_norm_twice"]
