"""Trees that score alike: which to show, how alike they are, choosing one."""
