"""The trees that score like a run's own, and rates by group, computed once."""
