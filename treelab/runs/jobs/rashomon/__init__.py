"""Trees that score alike: those of a run, more of them, one of them chosen."""
