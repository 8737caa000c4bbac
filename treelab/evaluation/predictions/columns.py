"""Predictions as columns: probabilities, the leaf, its rule, the tree that decides."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning.shown_tree import Model, shown_tree, takes_empty_branch
from treelab.trees.text.numerals import counted
from treelab.trees.text.rules import leaf_rules

# What can be written beside each prediction, and what it is.
PARTS = {
    "table": "the columns of the table",
    "prediction": "the class, or the value",
    "probabilities": "of each class",
    "leaf": "number of the leaf that the row reaches",
    "rule": "the conditions that lead to this leaf",
    "tree": "number of the ensemble's tree of highest weight on this row",
    "weight": "that tree's share of the prediction",
}
DEFAULT_PARTS = ("table", "prediction", "probabilities")


def parts_of(model: Model) -> list[str]:
    """Return the parts that a model's predictions have."""
    left_out = set()
    if model.classes is None:
        left_out.add("probabilities")
    if not isinstance(model, WeightedTrees):
        left_out |= {"tree", "weight"}
    return [part for part in PARTS if part not in left_out]


def prediction_columns(
    model: Model, X: pd.DataFrame, parts: Collection[str]
) -> pd.DataFrame:
    """Predict rows, and say what decides each.

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    X : DataFrame of shape (n_rows, n_columns_read)
        As ``new_table`` returns it.
    parts : collection of str
        Names among ``PARTS``; "table" and what the model has not are passed over.

    Returns
    -------
    DataFrame of n_rows rows
        ``prediction``, ``probability of LABEL`` for each class, ``leaf``, ``rule``,
        ``tree`` and ``weight``. Of an ensemble, leaf and rule are those of the tree
        of highest weight on the row. Leaves have the numbers that pages show.
    """
    wanted = set(parts) & set(parts_of(model))
    columns: dict[str, object] = {}
    if "prediction" in wanted:
        columns["prediction"] = model.predict(X)
    if "probabilities" in wanted and model.classes is not None:
        probabilities = model.predict_proba(X)  # (n_rows, n_classes)
        for k, label in enumerate(model.classes):
            columns[f"probability of {label}"] = probabilities[:, k]
    if wanted & {"leaf", "rule", "tree", "weight"}:
        found = _deciding(model, X, with_rule="rule" in wanted)
        columns |= {part: found[part] for part in PARTS if part in wanted & set(found)}
    return pd.DataFrame(columns, index=X.index)


def with_predictions(
    frame: pd.DataFrame, predicted: pd.DataFrame, parts: Collection[str], name: str
) -> pd.DataFrame:
    """Put predictions behind the table's own columns, where these are wanted.

    Raises
    ------
    ValueError
        If the table has a column of that name already.
    """
    if "table" not in parts:
        return predicted
    own = {str(column) for column in frame.columns}
    present = [column for column in predicted if column in own]
    if present:
        raise ValueError(
            f"{name} has a column {present[0]!r} already; rename it, or leave the "
            "table's own columns out."
        )
    return pd.concat([frame, predicted], axis=1)


def empty_branch_note(model: Model, X: pd.DataFrame) -> str:
    """Return how many rows take a branch that trees are shown without; "" for none."""
    if isinstance(model, WeightedTrees) or not len(X):
        return ""
    n_rows = int(takes_empty_branch(model, X).sum())
    if not n_rows:
        return ""
    verb = "takes" if n_rows == 1 else "take"
    return (
        f"{counted(n_rows, 'row')} {verb} a branch that no training row took; leaf and "
        "rule are those at which the tree goes on as it is shown."
    )


def _deciding(model: Model, X: pd.DataFrame, *, with_rule: bool) -> dict:
    """Return leaf and, where wanted, rule of each row; its tree and that's weight."""
    if not isinstance(model, WeightedTrees):
        tree = shown_tree(model)
        leaf = tree.apply(X)
        rule = _rules(tree, leaf) if with_rule else None
        return {"leaf": leaf, "rule": rule}
    index, weight = model.top_estimators(X)
    number = index[:, 0]
    leaf = np.zeros(len(X), dtype=np.int64)
    rule = np.full(len(X), "", dtype=object)
    for each in np.unique(number):
        rows = np.flatnonzero(number == each)
        tree = shown_tree(model, estimator=int(each))
        leaf[rows] = tree.apply(X.iloc[rows])
        if with_rule:
            rule[rows] = _rules(tree, leaf[rows])
    return {"leaf": leaf, "rule": rule, "tree": number, "weight": weight[:, 0]}


def _rules(tree, leaf: np.ndarray) -> np.ndarray:
    """Return the rule of the leaf of each row, (n_rows,)."""
    rules = leaf_rules(tree)
    return np.array([rules[each] for each in leaf.tolist()], dtype=object)
