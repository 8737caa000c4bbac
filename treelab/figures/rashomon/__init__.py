"""Trees that score alike, in one picture."""
