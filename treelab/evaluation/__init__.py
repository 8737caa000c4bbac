"""What is said of finished trees on rows: scores, intervals, routing, reports."""
