"""What the Pruning page shows: one size of a path, or two beside each other."""
