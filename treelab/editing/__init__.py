"""A tree edited by hand: what was done as plain data, and the tree that it gives."""
