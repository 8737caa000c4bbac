"""A tree in a few short lines."""

import numpy as np
import pytest

from treelab.trees.feature import Feature
from treelab.trees.text.sketch import WIDTH, sketch
from treelab.trees.tree import Tree

LONG = "a very long name of a column <b>with markup</b>"


def tree(depth: int, names=("radius", LONG), classes=("small", "rough")) -> Tree:
    """A complete tree whose splits test both columns in turn."""
    n_splits = 2**depth - 1
    features = (Feature(names[0], unit="mm"), Feature(names[1]))
    value = np.eye(2)[np.arange(n_splits + 1) % 2]
    return Tree.complete(
        features,
        np.arange(n_splits) % 2,
        np.arange(n_splits) + 0.5,
        np.zeros(n_splits, bool),
        value,
        classes=classes,
    )


def test_two_levels_are_drawn_and_the_rest_is_counted():
    assert sketch(tree(1, ("radius", "texture"))) == [
        "radius ≤ 0.5 mm?",
        "├ then small",
        "└ else rough",
    ]
    assert sketch(tree(2, ("radius", "texture"))) == [
        "radius ≤ 0.5 mm?",
        "├ then texture ≤ 1.5?",
        "│  then small, else rough",
        "└ else radius ≤ 2.5 mm?",
        "   then small, else rough",
    ]
    assert sketch(tree(3, ("radius", "texture")))[-1] == "… 4 more splits"
    assert "then …, else …" in sketch(tree(3))[2]


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("name", [LONG, "W" * 200, "\u05d0" * 60, "a\nb"])
def test_there_are_at_most_six_short_lines(depth, name):
    lines = sketch(tree(depth, (name, name), (name, "other")))
    assert len(lines) <= 6
    for line in lines:
        isolated = line.count("\u2068")
        assert isolated == line.count("\u2069")
        assert len(line) - 2 * isolated <= WIDTH
        assert "\n" not in line


def test_a_single_leaf_is_its_prediction():
    one = tree(1)
    leaf = Tree(
        one.features,
        *(getattr(one, name)[1:2] for name in ("left", "right", "feature")),
        *(getattr(one, name)[1:2] for name in ("threshold", "missing_left", "value")),
        *(getattr(one, name)[1:2] for name in ("n_rows", "impurity")),
        classes=one.classes,
    )
    assert sketch(leaf) == ["small"]
