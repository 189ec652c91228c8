"""Runs of recipes: load the data, train, save and load model folders, and evaluate."""
