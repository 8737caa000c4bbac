"""GET and GET-Linear: one tree with oblique splits, trained as a whole."""
