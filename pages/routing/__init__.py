"""Parts of Routing."""
