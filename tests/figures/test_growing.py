"""A growing tree is drawn whole, and its questions do not hide each other."""

import numpy as np
import pandas as pd
import pytest

from treelab.figures.growing import growing_figure
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree

COLORS = {"rough": "#0072B2", "fine": "#E69F00"}


def tree_of(depth, classes=("rough", "fine"), seed=0):
    rng = np.random.default_rng(seed)
    features = (Feature("radius"), Feature("texture $x$ of the whole"))
    n_splits = 2**depth - 1
    tree = Tree.complete(
        features,
        rng.integers(0, 2, n_splits),
        rng.uniform(1, 9, n_splits),
        np.zeros(n_splits, bool),
        rng.dirichlet([1] * len(classes), 2**depth)
        if classes
        else rng.normal(size=(2**depth, 1)),
        classes=classes,
    )
    X = pd.DataFrame(rng.uniform(0, 10, (300, 2)), columns=[f.column for f in features])
    y = rng.choice(classes, 300) if classes else rng.normal(size=300)
    return tree.with_rows(X, y)


@pytest.mark.parametrize("depth", [0, 1, 3, 7])
@pytest.mark.parametrize("classes", [("rough", "fine"), None])
def test_every_node_is_drawn_once(depth, classes):
    tree = tree_of(depth, classes)
    figure = growing_figure(tree, COLORS if classes else {})
    traces = [t for t in figure.data if t.customdata is not None]
    drawn = np.concatenate([t.customdata for t in traces])
    assert sorted(drawn) == list(range(tree.n_nodes))


def test_leaves_have_the_colour_of_their_answer():
    tree = tree_of(3)
    figure = growing_figure(tree, COLORS)
    (leaves,) = [trace for trace in figure.data if trace.marker.symbol == "square"]
    answers = [tree.classes[i] for i in tree.value[tree.is_leaf].argmax(axis=1)]
    assert list(leaves.marker.color) == [COLORS[answer] for answer in answers]


def test_edges_have_few_widths_that_grow_with_their_rows():
    lines = [t for t in growing_figure(tree_of(6), COLORS).data if t.mode == "lines"]
    widths = [line.line.width for line in lines]
    assert widths == sorted(set(widths))
    assert 1 < len(widths) <= 6


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
def test_questions_do_not_hide_each_other(depth):
    notes = growing_figure(tree_of(depth), COLORS).layout.annotations
    assert len(notes) >= 1
    per_leaf = 400 / (2**depth + 0.2)
    for level in {note.y for note in notes}:
        middles = sorted(
            note.x * per_leaf + note.xshift for note in notes if note.y == level
        )
        assert all(np.diff(middles) > 50)


def test_names_of_columns_are_escaped():
    notes = growing_figure(tree_of(4), COLORS).layout.annotations
    texts = " ".join(note.text for note in notes)
    assert "texture" in texts
    assert "$" not in texts
