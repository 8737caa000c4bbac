"""Explain: which row, why this answer, what matters overall."""
