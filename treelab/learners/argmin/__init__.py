"""Argmin trees: oblique splits, and which nodes live is itself learned."""
