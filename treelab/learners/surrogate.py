"""A tree that imitates any model with ``predict``, and one that says where it errs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_regressor

from treelab.data.columns import as_frame, infer_task
from treelab.data.split import assign_splits
from treelab.evaluation.metrics import TITLES, by_row, headline, scores
from treelab.evaluation.surrogates import Imitation, imitation, residual_target
from treelab.learners.common.base import check_weights
from treelab.learners.registry import make_estimator
from treelab.trees.words import counted, significant


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A tree in the place of a model, with what it is worth on held-out rows.

    Attributes
    ----------
    estimator : estimator
        Fitted to the model's predictions; ``tree_`` is its tree.
    imitation : Imitation
        Fidelity on held-out rows, and how model and tree do against the truth.
    residual : estimator or None
        Its ``tree_`` predicts where the tree differs from the model: "agrees" or
        "differs", or the absolute difference. None where they agree everywhere.
    residual_scores : dict of str to float
        Of the residual tree on the held-out rows; see ``metrics.scores``.
    """

    estimator: Any
    imitation: Imitation
    residual: Any = None
    residual_scores: Mapping[str, float] | None = None

    @property
    def tree_(self):
        """The tree that imitates; an ensemble has none."""
        return self.estimator.tree_

    @property
    def residual_tree_(self):
        """The tree that predicts where it differs from the model, or None."""
        return None if self.residual is None else self.residual.tree_

    def predict(self, X):
        """Predict as the tree does, (n_rows,)."""
        return self.estimator.predict(X)

    def __str__(self):
        lines = self.imitation.sentences()
        if self.residual is None or self.residual_scores is None:
            lines.append("There is no residual tree: tree and model differ alike.")
        else:
            name = headline(self.residual.model_.task)
            if self.residual_tree_.n_leaves == 1:
                return "\n".join([*lines, "No rule was found for where they differ."])
            leaves = counted(self.residual_tree_.n_leaves, "leaf", "leaves")
            lines.append(
                f"Where they differ: a residual tree of {leaves}, {TITLES[name]} "
                f"{significant(self.residual_scores[name])} on the held-out rows."
            )
        return "\n".join(lines)


def surrogate(
    model,
    X,
    y=None,
    sample_weight=None,
    *,
    learner: str = "cart",
    settings: Mapping[str, Any] | None = None,
    task: str | None = None,
    test_size: float = 0.2,
    random_state: int = 0,
) -> Surrogate:
    """Fit a tree that imitates a model, and one that says where it does not.

    Both learn from four fifths of the rows (a quarter of them validates); the rest is
    held out for the scores.

    Parameters
    ----------
    model : object with ``predict``
        Fitted; any scikit-learn estimator or pipeline will do. Nothing else is asked
        of it.
    X : DataFrame or array of shape (n_rows, n_columns)
        Rows without labels, as the model takes them: best rows that did not train it.
    y : array-like of shape (n_rows,) or None, default=None
        The truth, where it is known: model and tree are then scored against it.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        What each row counts, above 0, in both trees and all scores; None: all alike.
    learner : str, default="cart"
        Key of the learner that imitates: "cart" or "gradtree", say.
    settings : mapping or None, default=None
        Its settings, such as ``max_leaf_nodes``.
    task : {"binary", "multiclass", "regression"} or None, default=None
        What the model predicts; None: what its kind and its predictions say.
    test_size : float, default=0.2
        Fraction of the rows that is held out.
    random_state : int, default=0
        Seeds the split and the training.

    Returns
    -------
    Surrogate

    Raises
    ------
    ValueError
        If the model predicts the same for all rows, or several numbers for each.

    Examples
    --------
    >>> found = treelab.surrogate(forest, X_test, y_test)  # doctest: +SKIP
    >>> print(found)  # doctest: +SKIP
    """
    frame = as_frame(X)
    predicted = by_row(model.predict(X), len(frame), "The model's predictions")
    if predicted.ndim != 1:
        raise ValueError(
            f"The model predicts {predicted.shape[1]} numbers for each row; a tree "
            "imitates a model of one."
        )
    task = task or _task_of(model, predicted)
    if len(pd.unique(predicted)) < 2:
        raise ValueError(
            "The model predicts the same for every row; so would any tree."
        )
    strata = np.zeros(len(frame), dtype=np.int64)
    if task != "regression":
        strata = pd.factorize(predicted)[0]
    parts = assign_splits(strata, (1 - test_size) / 4, test_size, random_state)
    weight = check_weights(sample_weight, len(frame), "sample_weight")
    if weight is not None and not weight.all():
        raise ValueError("sample_weight must be above 0; leave rows of weight 0 out.")
    fit = partial(_fitted, parts=parts, weight=weight, random_state=random_state)
    estimator = fit(learner, task, dict(settings or {}), frame, predicted)
    tree_predicts = estimator.predict(frame)
    test = parts == 2
    truth = None if y is None else by_row(y, len(frame), "y", may_lack=True)[test]
    held_out = None if weight is None else weight[test]
    found = imitation(task, predicted[test], tree_predicts[test], truth, held_out)
    try:
        target = residual_target(task, predicted, tree_predicts)
        kind = "regression" if task == "regression" else "binary"
        residual = fit("cart", kind, {}, frame, target)
    except ValueError:  # nothing to learn, or not among the training rows
        return Surrogate(estimator, found)
    of_residual = residual.predict(frame[test])
    of_test = scores(kind, target[test], of_residual, sample_weight=held_out)
    return Surrogate(estimator, found, residual, of_test)


def _task_of(model, predicted: np.ndarray) -> str:
    """Return the task, by the model's kind where it has one."""
    if hasattr(model, "__sklearn_tags__"):  # else scikit-learn cannot tell
        if is_regressor(model):
            return "regression"
        if is_classifier(model):
            return "binary" if len(pd.unique(predicted)) <= 2 else "multiclass"
    return infer_task(pd.Series(predicted))


def _fitted(learner, task, settings, frame, target, *, parts, weight, random_state):
    """Fit a learner to the training and validation rows."""
    estimator = make_estimator(learner, task, settings, random_state=random_state)
    train, valid = parts == 0, parts == 1
    weights = {}
    if weight is not None:
        weights = {"sample_weight": weight[train], "sample_weight_valid": weight[valid]}
    return estimator.fit(
        frame[train],
        target[train],
        X_valid=frame[valid],
        y_valid=target[valid],
        **weights,
    )
