"""Drawings: the larger parts of pages, which show what they are given."""
