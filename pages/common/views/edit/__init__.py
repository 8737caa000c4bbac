"""Editing a tree: the node, its split and columns, the log, and what comes of it."""
