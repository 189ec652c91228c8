"""Training: the loop on Lightning Fabric, objectives, schedules, checkpoints."""
