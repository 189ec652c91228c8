"""A run: a recipe carried out. Its data, its training, the folder that holds the model, and how good it is."""
