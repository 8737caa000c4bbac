"""Trees that score alike: how each is scored, how alike they are, where they differ."""
