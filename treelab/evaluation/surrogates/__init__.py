"""Trees that imitate another model: how well, and where they differ from it."""
