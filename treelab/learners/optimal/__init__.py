"""Optimal tree: the best tree of a small depth, proven by search."""
