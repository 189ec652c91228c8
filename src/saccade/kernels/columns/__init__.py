"""Column sums, which are the gradients of biases."""
