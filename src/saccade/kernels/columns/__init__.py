"""Sums of columns, which are the gradients of biases."""
