"""What several learners share: reading a table, checks, starts, batches of trees."""
