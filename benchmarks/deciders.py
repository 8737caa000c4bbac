"""Who decides in an ensemble: the heaviest trees alone, beside anchors."""

from argparse import Namespace
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.contenders import Contender, boosted_trees, random_forest_classes
from benchmarks.decider_facts import decider_facts
from benchmarks.runner import splits
from benchmarks.tables import choose, read_manifest
from treelab.evaluation.ensembles import (
    counts_to_try,
    rows_decided_by_one,
    scores_of_heaviest,
)
from treelab.learners.registry import make_estimator
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.text import rule_text

# Anchors: the shortest conditions on a row under which a model predicts as it does.
#
# After Ribeiro, Singh and Guestrin, "Anchors: High-Precision Model-Agnostic
# Explanations", AAAI 2018, section 4: conditions are added one by one, the most precise
# first. Precision is counted on the rows of a table, not on rows drawn around the
# explained one.


PRECISION = 0.95  # of an anchor
_FEW_VALUES = 10  # numbers with no more of them are compared by value
_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Anchor:
    """Conditions on some columns, true of the explained row.

    Attributes
    ----------
    columns : tuple of int
        Columns with a condition, in the order they were added.
    precision : float
        Share of the rows that meet all conditions on which the model predicts as it
        does for the explained row.
    coverage : float
        Share of all rows that meet them.
    """

    columns: tuple[int, ...]
    precision: float
    coverage: float


def interval_codes(X: pd.DataFrame) -> np.ndarray:
    """Return the value, or the quarter of its column's rows, of each cell as a code.

    Returns
    -------
    int array of shape (n_rows, n_columns)
        Equal codes in a column are one condition.
    """
    codes = []
    for name in X.columns:
        column = X[name]
        numeric = pd.api.types.is_numeric_dtype(column)
        if numeric and column.nunique() > _FEW_VALUES:
            edges = np.unique(column.quantile(_QUARTILES).to_numpy())
            own = np.searchsorted(edges, column.to_numpy())
            codes.append(np.where(column.isna(), -1, own))
        else:
            codes.append(pd.factorize(column)[0])
    return np.stack(codes, axis=1)


def find_anchor(codes: np.ndarray, predicted: np.ndarray, row: int) -> Anchor:
    """Add the condition that makes the prediction of a row surest, until it is sure.

    Parameters
    ----------
    codes : int array of shape (n_rows, n_columns)
        See ``interval_codes``.
    predicted : ndarray of shape (n_rows,)
        The model's prediction for each row.
    row : int
        The row to explain.
    """
    same = predicted == predicted[row]
    meets = np.ones(len(codes), dtype=bool)
    columns: list[int] = []
    while (precision := same[meets].mean()) < PRECISION and len(columns) < len(codes.T):
        # Of equally precise conditions the one that more rows meet.
        equal = (codes == codes[row]) & meets[:, None]
        count = equal.sum(0)
        sure = (equal & same[:, None]).sum(0) / count
        order = np.lexsort((-count, -sure))
        columns.append(int(order[~np.isin(order, columns)][0]))
        meets = equal[:, columns[-1]]
    return Anchor(tuple(columns), float(precision), float(meets.mean()))


def anchor_facts(
    X: pd.DataFrame, predicted: np.ndarray, rows: np.ndarray, column: str
) -> dict[str, float]:
    """Return what the anchors of some rows have in common.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_columns)
    predicted : ndarray of shape (n_rows,)
        The model's prediction for each row.
    rows : int array
        The rows to explain.
    column : str
        Column that anchors may name.

    Returns
    -------
    dict
        Means: ``conditions``, ``precision``, ``coverage``; ``naming``, the share of
        anchors with a condition on the column, and ``alone``, on nothing else.
    """
    codes = interval_codes(X)
    found = [find_anchor(codes, predicted, row) for row in rows.tolist()]
    place = X.columns.get_loc(column)
    return {
        "conditions": float(np.mean([len(a.columns) for a in found])),
        "precision": float(np.mean([a.precision for a in found])),
        "coverage": float(np.mean([a.coverage for a in found])),
        "naming": float(np.mean([place in a.columns for a in found])),
        "alone": float(np.mean([a.columns == (place,) for a in found])),
    }


# ``benchmarks deciders``: the paper's case, how few trees decide and by which rule.
#
# Marton et al., "GRANDE", arXiv:2309.17130, section 4.3: PhishingWebsites, rows with
# ``Prefix_Suffix = 1``, which one small tree decides by one rule.


MOST_RULES = 5  # that are printed
EXPLAINED = 50  # rows whose anchors are looked for, at most
PEERS = (
    Contender("random forest", random_forest_classes()),
    Contender("xgboost", boosted_trees("xgboost"), needs="xgboost"),
)


def run(chosen: Namespace) -> int:
    """Fit GRANDE on each split, 80/20 by classes, and print who decides test rows."""
    (table,) = choose(read_manifest(chosen.data), None, ("binary",), chosen.table)
    X, y = table.load()
    column, value = chosen.where.split("=", 1)
    settings = {"weighting": chosen.weighting} if chosen.weighting else {}
    if chosen.weighting == "softmax":
        settings["max_deciders"] = None  # as in the paper
    trials = splits(y, "random", chosen.trials, seed=chosen.seed)
    for seed, (train, test) in enumerate(trials, start=chosen.seed):
        learner = make_estimator("grande", table.task, settings, random_state=seed)
        ensemble = learner.fit(X.iloc[train], y[train]).model_
        print(f"\n{table.name}, split {seed}\n{learner.origin_}")
        _print_split(ensemble, X.iloc[test], y[test], column, value)
        predicted = {"GRANDE": learner.predict(X.iloc[test])}
        for peer in PEERS:
            if peer.is_missing:
                print(f"Left out {peer.name}: {peer.install_command}")
                continue
            rows = X.iloc[train], y[train], X.iloc[test]
            predicted[peer.name] = peer.fit_predict(*rows, "binary", seed).predicted
        _print_anchors(X.iloc[test], predicted, column, value)
    return 0


def _print_anchors(
    X: pd.DataFrame, predicted: dict[str, np.ndarray], column: str, value: str
) -> None:
    """Print how short a rule each model's predictions of some rows follow."""
    rows = np.flatnonzero(X[column].astype(str) == value)[:EXPLAINED]
    if len(rows) == 0:
        return
    print(f"Anchors of {len(rows)} rows with {column} = {value}, on test rows:")
    for name, own in predicted.items():
        facts = anchor_facts(X, own, rows, column)
        print(
            f"  {name}: {facts['conditions']:.1f} conditions, precision "
            f"{facts['precision']:.3f}, coverage {facts['coverage']:.3f}; "
            f"{facts['naming']:.0%} name {column}, {facts['alone']:.0%} nothing else"
        )


def _print_split(
    ensemble: WeightedTrees, X: pd.DataFrame, y: np.ndarray, column: str, value: str
) -> None:
    """Print what decides the test rows of a split."""
    counts = counts_to_try(ensemble)
    alone = scores_of_heaviest(ensemble, X, y, counts)
    print(f"All {len(X):,} test rows: {_facts_text(decider_facts(ensemble, X))}")
    by_count = ", ".join(f"{k}: {score:.3f}" for k, score in zip(counts, alone))
    print(f"Score of each row's k heaviest trees alone: {by_count}")
    here = (X[column].astype(str) == value).to_numpy()
    if not here.any():
        print(f"No test row has {column} = {value}.")
        return
    facts = _facts_text(decider_facts(ensemble, X[here]))
    print(f"The {here.sum():,} with {column} = {value}: {facts}")
    for line in _rules(ensemble, X, y, here, column):
        print(line)
    decided = rows_decided_by_one(ensemble, X, y)
    n_rows = sum(len(rule.rows) for rule in decided)
    print(
        f"One tree has over half of the prediction on {n_rows:,} of {len(X):,} rows, "
        f"by {len(decided):,} rules."
    )


def _rules(ensemble, X, y, here, column) -> list[str]:
    """Describe the heaviest trees' rules on some rows, the most frequent first."""
    heaviest, weight = (found[:, 0] for found in ensemble.top_estimators(X))
    found = []
    for e in np.unique(heaviest[here]).tolist():
        tree = ensemble.estimator(e)
        leaf = tree.apply(X)
        own = here & (heaviest == e)
        for node in np.unique(leaf[own]).tolist():
            meets = leaf == node  # all test rows that the rule is true of
            predicted = tree.predict(X[meets])[0]
            decided = own & meets
            found.append(
                (
                    int(decided.sum()),
                    f"  {decided.sum():,} rows, weight {weight[decided].mean():.2f}: "
                    f"{rule_text(tree, node)}: {predicted}; precision "
                    f"{np.mean(y[meets] == predicted):.3f}, coverage "
                    f"{meets.mean():.3f} of test rows",
                    f"{column} " in f"{rule_text(tree, node)} ",
                )
            )
    found.sort(key=lambda rule: -rule[0])
    naming = sum(n_rows for n_rows, _, names in found if names)
    first = f"The heaviest tree's rule names {column} on {naming:,} of them."
    return [first, *(line for _, line, _ in found[:MOST_RULES])]


def _facts_text(facts: dict[str, float]) -> str:
    """Write the facts of some rows."""
    return (
        f"median top weight {facts['top weight']:.2f}, 90% of the prediction in "
        f"{facts['trees for 90%']:.0f} of {facts['trees']:.0f} trees"
    )
