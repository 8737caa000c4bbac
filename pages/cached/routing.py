"""Rows of a table sent through a run's tree once, counted by group at each node."""

from dataclasses import replace
from typing import Any

import pandas as pd

from pages.cached.predictions import GivenTable
from pages.cached.runs import LoadedRun, ranked_classes, run_tree, shared
from treelab.data.split import JOINED, SPLIT_NAMES
from treelab.evaluation import routing
from treelab.trees.dates import months


@shared(24, "Routing the rows…")
def routed_split(
    loaded: LoadedRun, split: str, estimator: int | None = None
) -> routing.RoutedRows:
    """Return the rows of a data split at the nodes of a run's tree."""
    X, y, _ = loaded.rows(split)
    is_fitted = (
        not loaded.has_labels  # then all rows were clustered
        or split == loaded.fitted_split
        or (loaded.fitted_split == JOINED and split != "test")
    )
    groups = routing.row_groups(y, **_classes_or_values(loaded))
    routed = routing.route_rows(run_tree(loaded, estimator), X, groups)
    name, key = f"{SPLIT_NAMES[split]} row", (*loaded.key, split, estimator)
    return replace(routed, rows_name=name, key=key, is_fitted=is_fitted)


@shared(4, "Routing the rows…")
def routed_file(
    loaded: LoadedRun, estimator: int | None, given: GivenTable
) -> routing.RoutedRows:
    """Return rows that were brought at a tree's nodes; a ValueError says why not."""
    tree = run_tree(loaded, estimator)
    X = routing.rows_for_model(tree, given.frame, given.name)
    problem, own = loaded.run.problem, _classes_or_values(loaded)
    if problem.more_targets:
        problem = replace(problem, target=loaded.output, more_targets=())
    routed = routing.route_rows(
        tree, X, routing.table_groups(problem, given.frame, **own)
    )
    by_month = {column: months(given.frame[column]) for column in given.dates}
    key = (*loaded.key, given.key, estimator)
    own = {"rows_name": "uploaded row", "key": key, "is_stored": False}
    return replace(routed, months=by_month, **own)


def _classes_or_values(loaded: LoadedRun) -> dict[str, Any]:
    """By what rows of a run are put into groups; see ``row_groups``."""
    classes = ranked_classes(loaded) or None
    of_values = {"y_train": loaded.split.y_train, "model": loaded.model}
    return {"classes": classes, **of_values}


@shared(24)
def routing_shift_of(
    loaded: LoadedRun, estimator: int | None, routed: routing.RoutedRows
) -> routing.RoutingShift | None:
    """Hold rows against those the tree was fitted to; None of these themselves."""
    if routed.is_fitted or not len(routed.leaf):
        return None
    fitted = routed_split(loaded, loaded.fitted_split, estimator)
    return routing.routing_shift(routed.tree, fitted.passing, routed.passing)


@shared(8)
def months_of(
    loaded: LoadedRun, estimator: int | None, routed: routing.RoutedRows, column: str
) -> pd.DataFrame:
    """Hold the rows of each month against those the tree was fitted to."""
    fitted = routed_split(loaded, loaded.fitted_split, estimator)
    by_month = routed.months[column]
    return routing.shift_by_month(routed.tree, fitted.passing, routed.leaf, by_month)
