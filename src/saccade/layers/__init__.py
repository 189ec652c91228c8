"""The parts models are made of: cells, readers, encoders, positions, read-outs, poolings."""
