"""Predictions by group: rates of each group, overall and at a node."""
