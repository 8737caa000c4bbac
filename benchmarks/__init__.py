"""Measurements of treelab that need its checkout, tables or a browser."""
