"""What several learners share: reading a table, settings, folds, objectives, splits."""
