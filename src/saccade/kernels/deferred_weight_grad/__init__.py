"""Deferred gradients of weights that a loop uses in every step."""

from saccade.kernels.deferred_weight_grad.products import deferred_gradients

__all__ = ["deferred_gradients"]
