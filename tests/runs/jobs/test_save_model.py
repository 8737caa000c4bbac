"""A run's summary says how its model came about; its path by size lies beside it."""

from dataclasses import replace

import numpy as np
import pandas as pd

from tests.runs.store.test_run_store import running
from treelab.learners.common.origin import Origin
from treelab.learners.registry import make_estimator
from treelab.runs.jobs.fit import Fitted
from treelab.runs.jobs.save_model import save_fitted
from treelab.runs.store.workers import ProcessId
from treelab.trees.pruning import SizePath, cost_complexity_path


def fitted_tree(problem, split) -> Fitted:
    """A greedy tree with its prunings."""
    cart = make_estimator("cart", problem.task, {"max_depth": 3})
    tree = cart.fit(split.X_train, split.y_train).tree_
    trees = [*cost_complexity_path(tree)][::-1]
    leaves = [each.n_leaves for each in trees]
    scores = {"n_leaves": leaves, "score": np.nan, "standard_error": np.nan}
    return Fitted(
        tree,
        problem,
        split,
        origin=Origin("greedy", False, tree.n_splits, 0),
        path=SizePath(trees, pd.DataFrame(scores), len(trees) - 1),
    )


def test_origin_and_path_are_stored_with_the_run(store, problem):
    run_id = running(store, problem)
    fitted = fitted_tree(problem, problem.split(store.table(problem.table_id)))
    metrics, summary = save_fitted(store, store.run(run_id), fitted, 0.5, lambda: None)
    store.finish(run_id, "done", metrics=metrics, summary=summary)
    assert store.run(run_id).origin == fitted.origin
    path = store.path(run_id)
    assert [tree.n_leaves for tree in path.trees] == [
        tree.n_leaves for tree in fitted.path.trees
    ]
    assert path.tree.target == "kind"


def test_a_run_may_have_neither(store, problem):
    run_id = running(store, problem)
    assert store.run(run_id).origin is None
    assert store.path(run_id) is None


def test_trees_of_an_attempt_that_was_cut_off_are_not_those_of_the_next(store, problem):
    run_id = running(store, problem)
    fitted = fitted_tree(problem, problem.split(store.table(problem.table_id)))
    store.add_path(run_id, fitted.path)
    store.finish(run_id, "interrupted")
    assert store.resume(run_id)
    store.start(run_id, ProcessId.here())
    alone = replace(fitted, path=None)  # as of a training that was stopped
    metrics, summary = save_fitted(store, store.run(run_id), alone, 0.5, lambda: None)
    store.finish(run_id, "stopped", metrics=metrics, summary=summary)
    assert store.run(run_id).has_model
    assert store.path(run_id) is None
