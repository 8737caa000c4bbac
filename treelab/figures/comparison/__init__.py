"""Several models in one picture: differences, surfaces, curves, agreement."""
