"""Trees that are trained: what they say, and what can be done to one."""
