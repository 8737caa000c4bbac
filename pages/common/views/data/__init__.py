"""What is decided about a table before training."""
