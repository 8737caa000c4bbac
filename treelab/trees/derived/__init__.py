"""Columns that are computed from other columns of the user's table."""
