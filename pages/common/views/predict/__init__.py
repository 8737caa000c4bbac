"""A table that was never trained on: which one, and what the run predicts for it."""
