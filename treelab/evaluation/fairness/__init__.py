"""Predictions by group: rates of each group, and how far they are apart."""
