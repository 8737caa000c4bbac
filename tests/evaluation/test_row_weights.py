"""What is measured on a row of weight two is what is measured on the row twice."""

from dataclasses import replace

import numpy as np
import pytest

from tests.evaluation.comparison.trees import trap, xor_tree
from tests.pages.stores import ensemble, single_tree, table
from treelab.data.problem import make_problem
from treelab.data.split import Rows
from treelab.evaluation import comparison, fairness, metrics
from treelab.evaluation.comparison import column_use
from treelab.evaluation.ensembles import (
    counts_to_try,
    mean_estimator_weights,
    rows_decided_by_one,
    scores_of_heaviest,
)
from treelab.evaluation.explanations import contributions, sufficient_rule
from treelab.evaluation.greedy_gap import greedy_gap
from treelab.evaluation.importance import ensemble_importances
from treelab.evaluation.node_report import node_report, score_leaf
from treelab.evaluation.optimality import optimality_gap
from treelab.evaluation.paired_bootstrap import paired_bootstrap, score_intervals
from treelab.evaluation.predictions import new_scores
from treelab.evaluation.pruning import pruned_scores
from treelab.evaluation.surrogates import imitation
from treelab.figures.viewer.payload import tree_payload
from treelab.trees.pruning import cost_complexity_path
from treelab.trees.tree import Tree


class Case:
    """A tree, a worse one, rows with weights, and the rows as often as they weigh."""

    def __init__(self, target: str):
        frame = table()
        columns = ["radius", "texture $x$", "colour"]
        self.problem = make_problem(frame, target, columns=columns)
        self.task, self.frame = self.problem.task, frame
        split = self.problem.split(frame)
        self.classes = None
        if self.task != "regression":
            self.classes = tuple(split.y_train.value_counts().index.tolist())
        self.tree = single_tree(self.classes, target, split)
        self.other = replace(self.tree, threshold=self.tree.threshold + 3)
        self.ensemble = ensemble(self.classes, target, split)
        X, y, _ = split.rows("test")
        times = np.random.default_rng(0).integers(1, 4, len(y))
        self.weighted = Rows(X, y, times.astype(float))
        self.twice = Rows(X, y).take(np.repeat(np.arange(len(y)), times))

    def predicted(self, rows: Rows, model=None) -> np.ndarray:
        return (model or self.tree).predict(rows.X)

    def is_class(self, rows: Rows) -> np.ndarray:
        return (rows.y == self.classes[0]).to_numpy()

    def chance(self, rows: Rows) -> np.ndarray:
        return self.ensemble.predict_proba(rows.X)[:, 0]


def of_any_target(case: Case, rows: Rows) -> dict:
    """What is measured of classes and of numbers."""
    tree, other = case.tree, case.other
    own, theirs = case.predicted(rows), case.predicted(rows, other)
    truth = rows.y.to_numpy()
    found = {
        "scores": metrics.scores(case.task, truth, own, sample_weight=rows.weight),
        "agreement": comparison.agreement(case.task, [own, theirs], rows.weight),
        "pruned": pruned_scores(
            cost_complexity_path(tree.with_rows(*case.weighted)), *rows
        ),
        "heaviest": scores_of_heaviest(
            case.ensemble, rows.X, truth, counts_to_try(case.ensemble), rows.weight
        ),
        "imitation": imitation(case.task, own, theirs, truth, rows.weight).fidelity,
        "node": node_report(tree, 1, {"test": rows}).statistics["test"].__dict__,
        "optimality": optimality_gap(other, [tree], *rows).__dict__,
        "baseline": metrics.baseline_loss(
            case.task, truth, truth, rows.weight, rows.weight
        ),
    }
    leaf = int(np.flatnonzero(tree.is_leaf)[0])
    found["leaf"] = score_leaf(tree, leaf, *rows).__dict__
    for name, d in paired_bootstrap(case.task, truth, own, theirs, rows.weight).items():
        found[name] = [d.first, d.second]
    (nodes,) = [each["nodes"] for each in tree_payload(tree, *rows)["trees"]]
    for name in ("shares", "mean", "impurity", "gain"):
        found[f"drawn {name}"] = [node.get(name) for node in nodes]
    return found


def of_classes(case: Case, rows: Rows) -> dict:
    """What is measured of classes alone."""
    is_class, chance = case.is_class(rows), case.chance(rows)
    predicted = case.predicted(rows) == case.classes[0]
    group = rows.X["colour"].to_numpy()
    curves = comparison.class_curves(is_class, chance, rows.weight)
    groups = is_class, predicted, group, rows.weight
    truth = is_class.astype(int)
    return {
        "areas": [curves.roc_area, curves.average_precision, curves.brier],
        "roc": curves.roc,
        "calibration": curves.calibration[["predicted", "observed"]],
        "cost": comparison.cost_curve(is_class, chance, 2.0, 5.0, rows.weight).cost,
        "mean cost": comparison.mean_cost(
            truth, predicted.astype(int), np.array([[0, 2], [5, 0]]), rows.weight
        ),
        "rates": fairness.rates_by_group(*groups)[list(fairness.RATES)].sort_index(),
        "gaps": [own.difference for own in fairness.rate_gaps(*groups).values()],
        "at nodes": fairness.rate_at_nodes(
            case.tree, rows.X, *groups[:3], "accuracy", rows.weight
        )["difference"],
        "confusion": metrics.confusion_matrix(
            truth, predicted.astype(int), 2, rows.weight
        ),
        "sufficient": sufficient_rule(case.tree, rows.X.iloc[[0]])
        .score(*rows)
        .accuracy,
    }


# Rows, not what they weigh, and whether they do.
COUNTED = {"n_rows", "n_total", "weight", "total_weight", "is_weighted"}


def values(found) -> np.ndarray:
    """Numbers of what was measured, flat."""
    if isinstance(found, dict):
        parts = [values(own) for key, own in found.items() if key not in COUNTED]
        return np.concatenate(parts)
    if isinstance(found, list):
        return np.concatenate([values(own) for own in found]) if found else np.empty(0)
    if found is None:
        return np.array([np.nan])
    return np.asarray(found, dtype=float).ravel()


@pytest.mark.parametrize("target", ["kind", "ripe", "weight"])
def test_weight_two_measures_as_the_row_twice(target):
    case = Case(target)
    measures = [of_any_target] + [of_classes] * (case.classes is not None)
    for measure in measures:
        weighted, twice = (measure(case, r) for r in (case.weighted, case.twice))
        alike = measure(case, Rows(case.weighted.X, case.weighted.y))
        for name in weighted:
            own = values(weighted[name])
            assert own == pytest.approx(values(twice[name]), nan_ok=True), name
        assert any(
            not np.allclose(values(weighted[name]), values(alike[name]), equal_nan=True)
            for name in weighted
        )


def test_a_greedy_gap_counts_rows_by_their_weight():
    X, y = trap()
    X_test, y_test = trap(seed=1)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    twice = Rows(X, y).take(rows), Rows(X_test, y_test).take(rows)
    weighted = Rows(X, y, times * 1.0), Rows(X_test, y_test, times * 1.0)
    tree = xor_tree(X, y)
    one, other = greedy_gap(tree, *weighted), greedy_gap(tree, *twice)
    assert (one.node, one.axes, one.is_xor) == (other.node, other.axes, other.is_xor)
    for name in ("gains", "greedy"):
        of_one, of_other = (vars(getattr(gap, name)) for gap in (one, other))
        assert of_one == pytest.approx(of_other)


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_intervals_are_those_of_weighted_rows(target):
    case = Case(target)
    rows = case.weighted
    predicted, truth = case.predicted(rows, case.ensemble), rows.y.to_numpy()
    for name, (low, high) in score_intervals(
        case.task, truth, predicted, rows.weight
    ).items():
        own = metrics.scores(case.task, truth, predicted, sample_weight=rows.weight)
        assert low < own[name] < high
    same = score_intervals(case.task, truth, predicted, np.full(len(truth), 3.0))
    alike = score_intervals(case.task, truth, predicted)
    for name, ends in alike.items():
        assert same[name] == pytest.approx(ends)


def test_a_new_table_is_scored_by_weight_and_exposure():
    case = Case("weight")
    frame = case.frame.assign(times=1 + np.arange(240) % 3, years=0.5)
    problem = replace(case.problem, weight="times", exposure="years")
    found, note = new_scores(case.tree, frame, frame, problem)
    truth, predicted = 2 * frame["weight"], case.tree.predict(frame)
    own = metrics.scores("regression", truth, predicted, sample_weight=frame["times"])
    assert note == ""
    assert found == pytest.approx(own)
    found, note = new_scores(case.tree, frame.drop(columns="times"), frame, problem)
    assert found == {}
    assert "'times'" in note


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_an_ensemble_counts_rows_by_their_weight(target):
    case = Case(target)
    row = case.frame[:1]

    def measured(rows: Rows) -> dict:
        model = case.ensemble.with_rows(*rows)
        weights = mean_estimator_weights(model, rows.X, rows.weight)
        return {
            "weights": weights,
            "importances": ensemble_importances(model, weights),
            "use": column_use(model),
            "base": contributions(model, row).base,
            "base along the path": contributions(model, row, along_path=True).base,
            "means": model.estimator(0).value,
            "mass": model.estimator(0).mass,
            "decided": [
                [own.weight, own.mean_absolute_error]
                for own in sorted(
                    rows_decided_by_one(model, *rows, share=0.3),
                    key=lambda own: (own.estimator, own.rule),
                )
            ],
        }

    alike = Rows(*case.weighted[:2])
    weighted, twice, alike = map(
        values, map(measured, (case.weighted, case.twice, alike))
    )
    assert weighted == pytest.approx(twice, nan_ok=True)
    assert weighted != pytest.approx(alike, nan_ok=True)


def test_a_tree_s_picture_says_what_rows_weigh():
    case = Case("kind")
    root = tree_payload(case.tree, *case.weighted)["trees"][0]["nodes"][0]
    assert root["rows"] == len(case.weighted.y)
    assert root["weight"] == case.weighted.total
    plain: Tree = case.tree
    assert "weight" not in tree_payload(plain)["trees"][0]["nodes"][0]
