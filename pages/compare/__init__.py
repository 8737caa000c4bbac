"""Parts of Compare: two runs side by side, and all runs by score and size."""
