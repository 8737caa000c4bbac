import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), depth=st.integers(0, 6), oblique=st.booleans())
def test_a_complete_tree_answers_as_a_heap_does(seed, depth, oblique):
    rng = np.random.default_rng(seed)
    n_splits, n_features = 2**depth - 1, 3
    features = [Feature(f"x{j}", fill=0.0) for j in range(n_features)]
    feature = rng.integers(n_features, size=n_splits)
    threshold = rng.normal(size=n_splits)
    missing_left = rng.random(n_splits) < 0.5
    weights = rng.normal(size=(n_splits, n_features)) if oblique else None
    leaf_value = rng.normal(size=(2**depth, 1))
    X = rng.normal(size=(30, n_features)).round(1)
    X[rng.random(X.shape) < 0.2] = np.nan
    tree = Tree.complete(
        features,
        None if oblique else feature,
        threshold,
        missing_left,
        leaf_value,
        weights=weights,
    )

    def walk(x):
        node = 0
        while node < n_splits:
            if oblique:
                filled = [0.0 if np.isnan(v) else v for v in x]
                left = sum(w * v for w, v in zip(weights[node], filled))
                left = left <= threshold[node]
            elif np.isnan(x[feature[node]]):
                left = missing_left[node]
            else:
                left = x[feature[node]] <= threshold[node]
            node = 2 * node + (1 if left else 2)
        return node

    leaves = [walk(x) for x in X]
    assert tree.apply(X).tolist() == leaves
    assert tree.predict(X).tolist() == [leaf_value[i - n_splits, 0] for i in leaves]
    assert tree.depth == depth


def test_an_internal_node_says_the_mean_of_its_leaves_until_it_is_shown_rows():
    value = np.array([[1.0], [2.0], [4.0], [9.0]])
    tree = Tree.complete([Feature("x0")], [0] * 3, [0.0] * 3, [False] * 3, value)
    assert tree.value[:3, 0].tolist() == [4.0, 1.5, 6.5]
    assert tree.n_rows.tolist() == [0] * 7


def test_some_splits_may_be_oblique_and_leaves_linear():
    tree = Tree.complete(
        [Feature("a"), Feature("b")],
        [-2, 0, 1],
        [0.0, 0.0, 0.0],
        [False] * 3,
        np.arange(4.0)[:, None],
        weights=[[1, 1], [0, 0], [0, 0]],
        leaf_weights=[[1, 0], [0, 1], [0, 0], [2, 2]],
        leaf_bias=[[0], [0], [7], [1]],
    )
    table = pd.DataFrame({"a": [-1.0, 1.0, 2.0, 5.0], "b": [-1.0, -2.0, 0.5, -1.0]})
    assert tree.apply(table).tolist() == [3, 4, 6, 5]
    assert tree.predict(table).tolist() == [-1, -2, 6, 7]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"leaf_value": np.zeros((3, 1))}, "1, 2, 4, 8"),
        ({"threshold": [0.0]}, "threshold must have one entry"),
        ({"feature": [0] * 4}, "feature must have one entry"),
        ({"missing_left": []}, "missing_left must have one entry"),
    ],
)
def test_arrays_of_other_lengths_are_refused(change, sentence):
    arrays = {
        "feature": [0] * 3,
        "threshold": [0.0] * 3,
        "missing_left": [0] * 3,
        "leaf_value": np.zeros((4, 1)),
    }
    with pytest.raises(ValueError, match=sentence):
        Tree.complete([Feature("a")], **(arrays | change))
