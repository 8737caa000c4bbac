"""``bench deciders``: the paper's case, how few trees decide and by which rule.

Marton et al., "GRANDE", arXiv:2309.17130, section 4.3: PhishingWebsites, rows with
``Prefix_Suffix = 1``, which one small tree decides by one rule.
"""

from argparse import Namespace

import numpy as np
import pandas as pd

from treelab.bench.contenders import Contender, boosted_trees, random_forest_classes
from treelab.bench.ensembles.anchors import anchor_facts
from treelab.bench.ensembles.decider_facts import decider_facts
from treelab.bench.runner import splits
from treelab.bench.tables import choose, read_manifest
from treelab.evaluation.ensembles import (
    counts_to_try,
    rows_decided_by_one,
    scores_of_heaviest,
)
from treelab.learners.registry import make_estimator
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.text import rule_text

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
