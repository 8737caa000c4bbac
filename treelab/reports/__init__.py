"""Finished trees as documents that open anywhere."""
