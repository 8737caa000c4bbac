"""CART: the greedy tree, by scikit-learn."""
