"""Building blocks of models: cells, causal layers, encoders, position codes, readouts, poolings."""
