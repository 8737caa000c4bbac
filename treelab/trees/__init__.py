"""Trained trees, the models: how they predict, and what can be done to one."""
