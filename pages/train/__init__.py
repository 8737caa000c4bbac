"""Parts of Train."""
