"""Where rows go in a tree: of each class, and of rows that it never saw."""
