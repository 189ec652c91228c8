"""Bulk prediction: files of any size, with workers on one machine or on many, and inside other engines."""

from saccade.bulk.job import Finished, predict_file
from saccade.bulk.predictor import Predictor

__all__ = ["Finished", "Predictor", "predict_file"]
