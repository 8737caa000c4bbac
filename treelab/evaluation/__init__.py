"""Evaluation of finished trees on rows: scores, intervals, reports on nodes."""
