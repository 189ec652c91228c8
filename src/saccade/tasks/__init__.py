"""Tasks, such as translation: each combines a data format, a model and metrics."""
