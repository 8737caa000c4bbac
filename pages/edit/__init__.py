"""Parts of Edit: the node, its split, the log of edits."""
