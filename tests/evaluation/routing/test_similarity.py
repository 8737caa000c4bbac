"""How alike the routes of classes are."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from tests.figures.small_trees import complete_tree, stump_and_more, tree_of
from treelab.evaluation.routing import (
    compare_routes,
    parting_split,
    route_similarity,
    rows_passing,
)
from treelab.trees.adapters import from_sklearn


def by_pairing(tree, first, second):
    """Nodes that paired rows pass together, of all they pass; both as many rows.

    Rows are paired from the deepest nodes up, which keeps them together longest.
    """
    left = [list(tree.apply(first)), list(tree.apply(second))]
    together = total = 0
    for leaf in left[0] + left[1]:
        total += len(tree.path_to(leaf)) - 1
    for node in sorted(range(tree.n_nodes), key=lambda node: -tree.level[node]):
        below = [[leaf for leaf in side if node in tree.path_to(leaf)] for side in left]
        for one, other in zip(*below):
            together += 2 * tree.level[node]
            left[0].remove(one)
            left[1].remove(other)
    return together / total


@pytest.mark.parametrize("seed", range(4))
def test_similarity_is_the_part_of_their_ways_that_paired_rows_share(seed):
    rng = np.random.default_rng(seed)
    tree = tree_of(3, seed=seed)
    columns = [feature.column for feature in tree.features]
    first, second = (
        pd.DataFrame(rng.uniform(low, 10, (30, 2)), columns=columns) for low in (0, 4)
    )
    rows = np.array([tree.node_counts(first), tree.node_counts(second)])
    expected = by_pairing(tree, first, second)
    assert route_similarity(rows)[0, 1] == pytest.approx(expected)


def test_the_same_leaves_are_1_and_a_parting_at_the_root_is_0():
    tree, X = complete_tree(3)
    halves = tree.node_counts(X[:200]), tree.node_counts(X[200:])
    assert route_similarity(np.array([halves[0], 3 * halves[0]]))[0, 1] == 1
    assert route_similarity(np.array(halves))[0, 1] == 0
    assert parting_split(tree, *halves) == (0, 1.0)


def test_a_tree_of_one_leaf_parts_nobody():
    assert route_similarity(np.array([[4], [7]])).tolist() == [[1, 1], [1, 1]]


def test_rows_part_where_most_of_them_take_different_sides():
    tree, X, y = stump_and_more()
    code = np.unique(y, return_inverse=True)[1]  # fine, rough, small
    rows = rows_passing(tree.parent, tree.apply(X), code, 3)
    assert rows.sum(axis=0).tolist() == tree.node_counts(X).tolist()
    assert parting_split(tree, rows[0], rows[1]) == (2, 1.0)
    assert parting_split(tree, rows[0], rows[2]) == (0, 1.0)
    assert route_similarity(rows)[0].tolist() == pytest.approx([1, 0.5, 0])


def panes_and_lamps():
    """Two kinds of panes that differ little, and lamps that differ from both."""
    rng = np.random.default_rng(0)
    kind = np.repeat(["pane, float", "pane, drawn", "lamp"], 60)
    X = pd.DataFrame(
        {
            "barium": (kind == "lamp") + rng.normal(0, 0.2, 180),
            "iron": (kind == "pane, drawn") * 0.5 + rng.normal(0, 0.3, 180),
        }
    )
    return X, kind


def test_panes_join_before_lamps_do():
    X, kind = panes_and_lamps()
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, kind)
    tree = from_sklearn(model, X.columns)
    names, code = np.unique(kind, return_inverse=True)
    rows = rows_passing(tree.parent, tree.apply(X), code, 3)
    found = compare_routes(names, rows)
    lamp, drawn, floated = 0, 1, 2
    assert found.most_alike == (drawn, floated)
    assert found.similarity[drawn, floated] > 0.5 > found.similarity[lamp].min()
    assert set(found.linkage[0, :2].astype(int)) == {drawn, floated}
    assert abs(list(found.order).index(drawn) - list(found.order).index(floated)) == 1
    place, similarity = found.brackets()
    assert place.shape == similarity.shape == (2, 4)
    assert similarity.min() == pytest.approx(found.similarity[lamp, [1, 2]].mean())


def test_a_class_without_rows_is_refused():
    with pytest.raises(ValueError, match="classes that have rows"):
        compare_routes(["a", "b"], np.array([[3, 3], [0, 0]]))
