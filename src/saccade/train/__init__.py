"""Training: the loop on Lightning Fabric, objectives, learning-rate schedules and checkpoints."""
