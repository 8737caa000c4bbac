"""Figures of what decides a prediction, for one row and overall."""
