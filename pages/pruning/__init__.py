"""Parts of Pruning."""
