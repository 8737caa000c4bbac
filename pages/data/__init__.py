"""Parts of Data."""
