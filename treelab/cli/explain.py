"""``python -m treelab explain``: why a run predicts what it does for one test row."""

from argparse import Namespace

import numpy as np
import pandas as pd

from treelab.cli.common.arguments import add_home
from treelab.evaluation.ensembles.deciders import (
    rows_decided_by_one,
    weight_that_agrees,
)
from treelab.evaluation.leaf_scores import score_leaf
from treelab.runs.jobs.model_facts import ON_TOP
from treelab.runs.store.run_store import RunStore
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.shown_tree import Model, shown_tree
from treelab.trees.text.nodes import path_sentences
from treelab.trees.text.numerals import counted, percent, probability, significant
from treelab.trees.text.rules import rule_text

MOST_TREES = 5  # whose weight is named
MOST_OF_IT = 0.9  # of the weight


def add_command(commands) -> None:
    """Add ``explain`` to the commands."""
    parser = commands.add_parser(
        "explain",
        help="say why a run predicts what it does for a test row",
        description="Writes the prediction for a test row and the path that decided "
        "it; of an ensemble the trees of highest weight and the rule of the first. "
        "With --simple-rules: the rules by which one tree of an ensemble decides test "
        "rows nearly alone.",
    )
    parser.add_argument("run", metavar="RUN", help="id of a run")
    add_home(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--row",
        type=int,
        metavar="N",
        help="number of a test row, from 1, as in the app",
    )
    what.add_argument(
        "--simple-rules", action="store_true", help="write them as CSV (ensembles)"
    )
    parser.add_argument(
        "--share",
        type=float,
        default=0.5,
        help="weight above which one tree decides a row (default: 0.5)",
    )
    parser.set_defaults(command=explain)


def explain(arguments: Namespace) -> None:
    """Explain one test row, or list the simple rules."""
    store = RunStore(arguments.home)
    model, problem = store.model(arguments.run), store.run(arguments.run).problem
    X, y = problem.split(store.table(problem.table_id)).rows("test")
    if arguments.simple_rules:
        print(_simple_rules(model, X, y, arguments.share).to_csv(index=False), end="")
        return
    if not 1 <= arguments.row <= len(X):
        raise ValueError(f"--row must be from 1 to {len(X)}, got {arguments.row}.")
    row = X.iloc[[arguments.row - 1]]
    print(_prediction(model, row))
    print(f"Target: {_value(model, y.iloc[arguments.row - 1])}")
    lines = _ensemble if isinstance(model, WeightedTrees) else _single_tree
    print("\n".join(lines(model, row, X, np.asarray(y))))


def _prediction(model: Model, row: pd.DataFrame) -> str:
    """Write the prediction for one row."""
    words = f"Prediction: {_value(model, model.predict(row)[0])}"
    if model.classes is None:
        return words
    return f"{words}, {probability(float(model.predict_proba(row).max()))}"


def _value(model: Model, value) -> str:
    """Write a label, or a value with its unit."""
    if model.classes is not None:
        return str(value)
    return f"{significant(float(value))} {model.target_unit}".rstrip()


def _single_tree(model: Model, row, X, y) -> list[str]:
    """Write the decision path, and how good its leaf is on test rows."""
    tree = shown_tree(model)
    steps = path_sentences(tree, row, most=3)
    predicted = None
    if isinstance(model, PruningPath) and model.predictors[model.chosen] is not None:
        predicted = model.predict(X)
        steps[-1] = ON_TOP
    numbered = [f"{i}. {step}" for i, step in enumerate(steps, 1)]
    return [*numbered, _leaf_words(tree, row, X, y, predicted)]


def _ensemble(model: WeightedTrees, row, X, y) -> list[str]:
    """Write the weights of the heaviest trees, and the rule of the first."""
    index, weight = model.top_estimators(row, min(MOST_TREES, model.n_estimators))
    heaviest = int(index[0, 0])
    n_most = int(model.n_estimators_for_share(row, MOST_OF_IT)[0])
    tree = shown_tree(model, estimator=heaviest)
    weights = ", ".join(
        f"tree {estimator} {percent(share)}"
        for estimator, share in zip(index[0], weight[0])
    )
    lines = [
        f"Weights: {weights}; {counted(n_most, 'tree')} of {model.n_estimators:,} have "
        f"{MOST_OF_IT:.0%}.",
        f"Tree {heaviest}: {rule_text(tree, tree.path(row)[-1])}, so "
        f"{_value(model, tree.predict(row)[0])}.",
        _leaf_words(tree, row, X, y),
    ]
    if model.classes is not None:
        agrees = percent(weight_that_agrees(model, row))
        lines.append(f"Trees with {agrees} of the weight predict the same class.")
    return lines


def _leaf_words(tree, row, X, y, predicted=None) -> str:
    """Write how many test rows reach the row's leaf, and how good predictions are."""
    score = score_leaf(tree, tree.path(row)[-1], X, y, predicted)
    words = f"This leaf: {score.n_rows:,} of {counted(score.n_total, 'test row')}"
    if score.accuracy is not None:
        return f"{words}, accuracy {percent(score.accuracy)}."
    error = _value(tree, score.mean_absolute_error)
    return f"{words}, mean absolute error {error}."


def _simple_rules(model: Model, X, y, share: float) -> pd.DataFrame:
    """Return a line for each rule that decides test rows by itself."""
    if not isinstance(model, WeightedTrees):
        raise ValueError("The model is one tree: export --format rules writes them.")
    names = ["tree", "test_rows", "correct", "mean_weight", "prediction", "rule"]
    if model.classes is None:
        names[2] = "mean_absolute_error"
    lines = [
        (
            own.estimator,
            len(own.rows),
            own.mean_absolute_error if own.n_right is None else own.n_right,
            round(own.weight, 3),
            own.prediction,
            own.rule,
        )
        for own in rows_decided_by_one(model, X, y, share=share)
    ]
    return pd.DataFrame(lines, columns=names)
