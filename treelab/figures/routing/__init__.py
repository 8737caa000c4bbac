"""Figures of where rows go in a tree."""
