"""The trials of a sweep: how the search went, and what made the difference."""
