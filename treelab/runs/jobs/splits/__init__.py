"""A run's learner and settings again: on other data splits, on folds."""
