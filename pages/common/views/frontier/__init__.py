"""Score against size of several runs, and the tree of a point."""
