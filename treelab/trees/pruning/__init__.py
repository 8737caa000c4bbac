"""Smaller trees from a tree."""
