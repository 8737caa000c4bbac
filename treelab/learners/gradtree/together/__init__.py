"""Fits of several settings on the same rows, whose trees train as one batch."""
