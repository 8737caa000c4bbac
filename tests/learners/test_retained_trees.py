"""Fits of the trained learners: the tree that is retained was trained, and what is said
of its start is so. Default fits of many tables are ``benchmarks origins``."""

import pytest

from benchmarks.origins import SINGLE_TREES, StartOfRetained
from treelab.data.builtin import BUILTIN
from treelab.learners.common.origin import changed_splits, feature_spread
from treelab.learners.registry import make_estimator
from treelab.trees.pruning_path import shown_tree

TABLES = ("wine", "diabetes")
SMALL = {
    "gradtree": {"n_restarts": 6, "n_steps": 100},
    "get": {"n_starts": 6, "n_steps": 200},
    "argmin": {"depth": 4, "max_epochs": 60, "n_restarts": 2},
}


@pytest.fixture(
    scope="module", params=[(k, t) for k in SINGLE_TREES for t in TABLES], ids="-".join
)
def fitted(request):
    """A fitted learner, its start, and its training rows."""
    key, name = request.param
    table = BUILTIN[name]
    frame = table.load()
    X, y = frame.drop(columns=table.target), frame[table.target]
    start, last = StartOfRetained(), slice(None, None, 5)
    train = [i for i in range(len(X)) if i % 5]
    learner = make_estimator(key, table.task, SMALL[key], random_state=0)
    learner.fit(
        X.iloc[train],
        y.iloc[train],
        X_valid=X.iloc[last],
        y_valid=y.iloc[last],
        callbacks=[start],
    )
    return learner, start, X.iloc[train]


@pytest.mark.slow
def test_the_retained_tree_was_trained_and_says_so_first(fitted):
    learner, _, _ = fitted
    origin = learner.origin_
    assert origin.trained
    assert origin.n_splits == shown_tree(learner.tree_).n_splits
    assert learner.tree_.notes[0] == str(origin)
    assert str(origin) in str(learner)


@pytest.mark.slow
def test_the_curve_begins_at_the_start_and_is_the_retained_trees(fitted):
    learner, start, _ = fitted
    assert start.tree is not None
    assert learner.history_["epoch"].iloc[0] == 0
    assert learner.history_["epoch"].is_monotonic_increasing


@pytest.mark.slow
def test_as_many_splits_changed_as_its_origin_says(fitted):
    learner, start, X = fitted
    spread = feature_spread(X.to_numpy())
    changed = changed_splits(start.tree, learner.tree_, spread)
    origin = learner.origin_
    if start.is_known and not origin.later:
        assert changed == origin.n_changed
    else:  # later steps, which are named, may move more, or move back
        assert (changed > 0) == (origin.n_changed > 0)
