"""A branch grown anew, against scikit-learn's greedy tree."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tests.editing.tables import COLUMNS, fitted, table
from treelab.editing.apply import apply_edits
from treelab.editing.edited import Edited
from treelab.editing.edits import Forbid, Lock, SetThreshold
from treelab.editing.limits import EditRows
from treelab.editing.paths import node_of, paths
from treelab.editing.regrow import class_weights, refit, regrow
from treelab.trees.adapters.scikit_learn import from_sklearn
from treelab.trees.constraints import Constraints, cost_matrix
from treelab.trees.shrinkage import with_shrunk_values


@pytest.mark.parametrize("target", ["label", "value"])
@pytest.mark.parametrize("n_leaves", [2, 5, 9])
def test_a_whole_tree_is_grown_as_cart_grows_it(target, n_leaves):
    frame = table(4).dropna()
    numbers = ["age", "income"]
    tree = fitted(frame.drop(columns="job").assign(job=0.0), target)
    rows = EditRows(tree, frame.assign(job=0.0)[COLUMNS], frame[target])
    grown = refit(regrow(Edited.of(tree), "", rows, n_leaves), rows)
    grower = DecisionTreeRegressor if target == "value" else DecisionTreeClassifier
    model = grower(max_leaf_nodes=n_leaves, min_samples_leaf=5, random_state=0)
    model.fit(frame[numbers], frame[target])
    assert grown.n_leaves == model.get_n_leaves()
    leaf, other = grown.apply(frame.assign(job=0.0)), model.apply(frame[numbers])
    assert len({*zip(leaf, other)}) == grown.n_leaves  # one leaf, one leaf


@pytest.mark.parametrize("target", ["label", "value"])
def test_a_branch_of_whole_weights_grows_and_predicts_as_of_rows_that_often(target):
    frame = table(6)
    times = np.where(frame["income"] > 0.5, 4, 1)  # they change where the best cuts lie
    often = frame.loc[frame.index.repeat(times)]
    tree = fitted(frame, target)
    grown = []
    for own, weight in ((frame, times), (often, None)):
        rows = EditRows(tree, own[COLUMNS], own[target], weight)
        edited = apply_edits(tree, [Lock("")], rows)
        grown.append(refit(regrow(edited, "R", rows, 3), rows))
    weighted, repeated = grown
    for name in ("feature", "threshold", "value", "impurity", "mass"):
        one, other = getattr(weighted, name), getattr(repeated, name)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=name)
    assert weighted.weight is not None
    assert weighted.n_rows[0] == len(frame)


def test_what_is_locked_stays_and_what_is_forbidden_goes():
    frame = table()
    tree = fitted(frame, max_leaf_nodes=9)
    rows = EditRows(tree, frame[COLUMNS], frame["label"])
    edited = apply_edits(tree, [Lock("R"), Forbid("L", "income")], rows)
    grown = regrow(edited, "", rows, 9)
    for path in ("", "R"):  # above a lock the split stays as well
        there, here = node_of(tree, path), node_of(grown.tree, path)
        assert grown.tree.feature[here] == tree.feature[there]
        assert grown.tree.threshold[here] == tree.threshold[there]
    for path in paths(grown.tree):
        if path.startswith("L"):
            assert "income" not in grown.columns_of(node_of(grown.tree, path))
    assert grown.tree.n_leaves <= 9


def test_a_locked_leaf_stays_a_leaf():
    frame = table()
    tree = fitted(frame, max_leaf_nodes=2)
    rows = EditRows(tree, frame[COLUMNS], frame["label"])
    edited = apply_edits(tree, [Lock(""), Lock("L")], rows)
    grown = regrow(edited, "", rows, 6)
    assert grown.tree.is_leaf[node_of(grown.tree, "L")]
    assert grown.tree.n_leaves > 2
    assert (np.array(refit(grown, rows).n_rows) > 0).all()


def test_errors_cost_in_an_edited_tree_what_they_did():
    frame = table()
    asked = Constraints(class_costs={"yes": {"no": 12.0}})
    tree = fitted(frame, constraints=asked, max_leaf_nodes=12)
    rows = EditRows(tree, frame[COLUMNS], frame["label"])
    split = SetThreshold("", float(tree.threshold[0]) + 0.7)
    edited = refit(apply_edits(tree, [split], rows, asked), rows)
    cheapest = (edited.value @ cost_matrix(asked, tree.classes)).argmin(axis=1)
    assert (edited.predicted_class == cheapest).all()
    own_rows = edited.class_counts * edited.class_weights
    assert (cheapest != own_rows.argmax(axis=1)).any()  # few of them say too much


def test_classes_that_weights_chose_are_chosen_anew():
    frame = table()
    tree, weights = fitted(frame), np.array([0.2, 1.0])
    own = {"class_weights": weights, "decision": (tree.value * weights).argmax(axis=1)}
    tree = replace(tree, shrinkage=None, **own)  # as one of an ensemble's trees is
    rows = EditRows(tree, frame[COLUMNS], frame["label"])
    split = SetThreshold("", float(tree.threshold[0]) + 0.7)
    edited = refit(apply_edits(tree, [split], rows), rows)
    counts = edited.class_counts
    assert (edited.predicted_class != tree.predicted_class).any()
    assert (edited.predicted_class == (counts * weights).argmax(axis=1)).all()
    np.testing.assert_allclose(edited.value, counts / counts.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("kind", ["shrunk", "chosen apart"])
def test_weights_of_classes_that_a_tree_neither_names_nor_shows_are_refused(kind):
    frame = table()
    tree = with_shrunk_values(replace(fitted(frame), shrinkage=None), 8.0)
    if kind == "chosen apart":
        tree = replace(tree, decision=tree.predicted_class, shrinkage=None)
    named = replace(tree, class_weights=np.array([0.5, 1.0]))
    assert class_weights(named).tolist() == [0.5, 1.0]
    unnamed = replace(tree, class_weights=None)
    with pytest.raises(ValueError, match="does not name the weights of its classes"):
        class_weights(unnamed)
    rows = EditRows(unnamed, frame[COLUMNS], frame["label"])
    with pytest.raises(ValueError, match="Train it again"):
        apply_edits(unnamed, [Lock("")], rows)


def test_weights_of_classes_that_plain_leaves_show_are_read_from_them():
    frame = table()
    model = DecisionTreeClassifier(
        max_leaf_nodes=5, class_weight={"no": 1, "yes": 4}, random_state=0
    )
    numbers = frame[["age", "income"]].fillna(0)
    tree = from_sklearn(model.fit(numbers, frame["label"]), [*numbers])
    tree = tree.with_rows(numbers, frame["label"])
    assert class_weights(tree) == pytest.approx([0.25, 1.0])
