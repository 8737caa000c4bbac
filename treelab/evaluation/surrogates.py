"""How well a tree imitates a model on some rows, and how both do against the truth."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from treelab.evaluation.metrics import TITLES, headline, scores
from treelab.evaluation.node_report import BY_WEIGHT
from treelab.evaluation.paired_bootstrap import ScoreDifference, paired_bootstrap
from treelab.trees.words import counted, percent, significant

AGREES, DIFFERS = "agrees", "differs"  # labels of a residual tree


@dataclass(frozen=True)
class Imitation:
    """A tree's predictions held against a model's, and both against the truth."""

    task: str  # "binary", "multiclass" or "regression"
    # Scores of the tree's predictions with the model's in the place of the truth, as
    # ``metrics.scores`` has them: ``accuracy`` is how often they agree.
    fidelity: dict[str, float]
    # Scores of the model (first) and of the tree (second) on the rows whose truth is
    # known, and the interval of their difference; empty where it is not known.
    against_truth: dict[str, ScoreDifference] = field(default_factory=dict)
    is_weighted: bool = False  # whether rows count by weight

    def sentences(
        self, model: str = "the model", rows: str = "held-out row"
    ) -> list[str]:
        """Say how well the tree imitates, and how both do, a sentence an item."""
        name = headline(self.task)
        own, title = self.fidelity, TITLES[name]
        n_rows = counted(int(own["n_rows"]), rows) + BY_WEIGHT * self.is_weighted
        if self.task == "regression":
            lines = [
                f"Fidelity: R² {significant(own['r2'])} against {model} on {n_rows}, "
                f"off by {significant(own['mae'])} on average."
            ]
        else:
            lines = [
                f"Fidelity: the tree agrees with {model} on {percent(own['accuracy'])} "
                f"of {n_rows}, {title} {significant(own[name])} against it."
            ]
        if name in self.against_truth:
            lines.append(_truth_words(self.against_truth[name], model))
        return lines


def imitation(task: str, of_model, of_tree, truth=None, weight=None) -> Imitation:
    """Hold a tree's predictions against a model's, and both against the truth.

    Predictions (n_rows,) are for the same rows, which the tree was not fitted to. The
    truth are labels as the model writes them, or values; missing ones are left out.
    ValueError if no label of it is among the model's.
    """
    of_model, of_tree = np.asarray(of_model), np.asarray(of_tree)
    fidelity = scores(task, of_model, of_tree, sample_weight=weight)
    is_weighted = weight is not None
    truth = np.full(len(of_model), np.nan) if truth is None else np.asarray(truth)
    known = pd.notna(truth)
    if known.sum() < 2:
        return Imitation(task, fidelity, is_weighted=is_weighted)
    if task != "regression" and not set(truth[known]) & set(of_model.tolist()):
        raise ValueError(
            f"The truth holds {truth[known][0]!r} and the model predicts "
            f"{of_model[0]!r}: no label of one is among the other's. Write both alike."
        )
    weight = None if weight is None else np.asarray(weight)[known]
    both = of_model[known], of_tree[known]
    compared = paired_bootstrap(task, truth[known], *both, weight)
    return Imitation(task, fidelity, compared, is_weighted)


def residual_target(task: str, of_model, of_tree) -> np.ndarray:
    """Return what a residual tree learns, (n_rows,): where a tree differs from a model.

    "agrees" or "differs"; for regression the absolute difference. ValueError if there
    is nothing to learn: they agree everywhere, or nowhere.
    """
    of_model, of_tree = np.asarray(of_model), np.asarray(of_tree)
    if task == "regression":
        distance = np.abs(of_model.astype(float) - of_tree.astype(float))
        if np.ptp(distance) == 0:
            raise ValueError(
                "The tree differs from the model by the same on every row, so there "
                "is no residual tree."
            )
        return distance
    differs = of_model != of_tree
    if differs.all() or not differs.any():
        where = "no" if differs.all() else "every"
        raise ValueError(
            f"The tree agrees with the model on {where} row, so there is no residual "
            "tree."
        )
    return np.where(differs, DIFFERS, AGREES)


def _truth_words(difference: ScoreDifference, model: str) -> str:
    """Say how the model and the tree do against the truth."""
    words = (
        f"Against the truth: {model} {significant(difference.first)}, the tree "
        f"{significant(difference.second)} {difference.title} on "
        f"{counted(difference.n_rows, 'row')}"
    )
    if difference.winner is None:
        return f"{words}, no clear difference."
    better = (f"{model} is", "the tree is")[difference.winner]
    low, high = significant(difference.low), significant(difference.high)
    return f"{words}; {better} better (tree minus model: 95% interval {low} to {high})."
