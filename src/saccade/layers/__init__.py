"""Building blocks of models: cells, causal layers, encoders, positional encodings, readouts, poolings."""
