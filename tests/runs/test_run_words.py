"""Runs in words: no two names are alike."""

from treelab.runs.run_words import distinct


def test_of_names_that_are_alike_the_oldest_stays_bare():
    names = {"c": "CART", "b": "CART 2", "a": "CART"}  # the newest first
    assert distinct(names) == {"c": "CART 3", "b": "CART 2", "a": "CART"}
