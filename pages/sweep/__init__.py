"""Parts of Sweep."""
