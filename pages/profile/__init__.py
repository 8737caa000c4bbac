"""Parts of Profile."""
