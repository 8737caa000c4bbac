"""The path over pruning strengths: what each tree scores, and which one is chosen."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.data.encoding.scale import power_of_two
from treelab.evaluation.metrics import (
    confusion_matrix,
    headline,
    macro_f1,
    macro_f1_error,
    scores,
)
from treelab.learners.argmin.export import TrainedTree, TreeExporter, trained_trees
from treelab.learners.argmin.network import ArgminTrees
from treelab.learners.argmin.settings import ArgminSettings
from treelab.learners.argmin.sparse import class_scores, lose_nothing
from treelab.learners.common.base import TrainingData
from treelab.trees.predictor import NodePredictor
from treelab.trees.pruning.path import PruningPath
from treelab.trees.tree import Tree

SMALLEST_PROBABILITY = 1e-7  # the loss of a probability of 0 has no bound


class WithPath:
    """What estimators have whose model is a pruning path."""

    model_: PruningPath

    @property
    def path_(self) -> PruningPath:
        """The trees of all strengths, the chosen one among them."""
        return self.model_

    @property
    def tree_(self) -> Tree:
        """The tree that predicts, in the units of ``X``; refused under a predictor."""
        return self.model_.as_tree()

    @property
    def pruning_strength_(self) -> float:
        """The chosen strength."""
        return float(self.model_.strengths[self.model_.chosen])


def chosen_path(exporter: TreeExporter, trained: Sequence[TrainedTree]) -> PruningPath:
    """Bind the trees of all strengths, with a predictor on top where one is wanted.

    With ``predictor="auto"`` the predictor stays where its validation score is better
    than that of the trees alone by more than one standard error.
    """
    settings, data, labels = exporter.settings, exporter.data, exporter.labels
    drawn = [(exporter.export(tree), None) for tree in trained]
    alone = pruning_path(drawn, settings, data, labels)
    if settings.reads_leaf:
        return alone
    both = [exporter.export_with_predictor(tree) for tree in trained]
    on_top = pruning_path(both, settings, data, labels)
    if settings.predictor != "auto":
        return on_top
    before, after = (row_scores(path, data)[None] for path in (on_top, alone))
    return alone if lose_nothing(before, after)[0] else on_top


def drawn_row_scores(exporter: TreeExporter, network: ArgminTrees) -> np.ndarray:
    """Return each validation row's score (E, n) by the trees as they are drawn."""
    trees = [exporter.export(tree) for tree in trained_trees(network)]
    return np.array([row_scores(tree, exporter.data) for tree in trees])


def row_scores(model: Tree | PruningPath, data: TrainingData) -> np.ndarray:
    """Return each validation row's score (n,), higher is better."""
    if model.classes is None:
        missed = model.predict(data.frame_valid) - data.y_valid
        return -((missed / power_of_two(data.y_valid)) ** 2)  # in no unit
    proba = model.predict_proba(data.frame_valid)
    return class_scores(proba.argmax(axis=1), data.y_valid)


def pruning_path(
    models: Sequence[tuple[Tree, NodePredictor | None]],
    settings: ArgminSettings,
    data: TrainingData,
    labels: tuple | None,
) -> PruningPath:
    """Bind the trees of all strengths, score them on validation rows, choose one.

    The choice is the smallest tree whose validation score is within one standard error
    of the best one's (Breiman et al. 1984, section 3.4.3); among equals the better. Or,
    as in the paper, that of the best validation loss.

    Parameters
    ----------
    models : sequence of (Tree, NodePredictor or None)
        One for each strength.
    settings : ArgminSettings
    data : TrainingData
    labels : tuple or None
        Classes; None for regression.

    Returns
    -------
    PruningPath
        Its ``scores``: strength, valid_loss (nats, or squared units of the target),
        valid_score (see ``metrics.headline``), and the columns of ``size_of``.
    """
    trees, predictors = zip(*models)
    strengths = settings.strengths
    path = PruningPath(
        strengths=strengths,
        trees=trees,
        predictors=predictors,
        chosen=0,
        scores=pd.DataFrame({"strength": strengths}),
        split=settings.split,
    )
    rows, errors = [], []
    for i, tree in enumerate(trees):
        loss, score, error = _on_validation(path, i, data, labels)
        errors.append(error)
        found = {"strength": strengths[i], "valid_loss": loss, "valid_score": score}
        rows.append(found | size_of(tree, settings.n_nodes))
    table = pd.DataFrame(rows)
    if settings.selection == "best":
        chosen = int(table["valid_loss"].argmin())
    else:
        chosen = smallest_within_error(
            np.array([tree.n_leaves for tree in trees]),
            table["valid_score"].to_numpy(),
            np.array(errors),
            table["valid_loss"].to_numpy(),
        )
    return replace(path, scores=table, chosen=chosen)


def size_of(tree: Tree, n_nodes: int) -> dict[str, float]:
    """Return the size of a tree that pruning left of ``n_nodes`` nodes.

    ``active_splits`` and ``leaves`` that training rows pass, ``empty_nodes`` that none
    passes, and ``activity``, the mean over all nodes.
    """
    assert tree.activity is not None
    split = np.flatnonzero(~tree.is_leaf)
    passed = tree.n_rows > 0
    active = passed[tree.left[split]] & passed[tree.right[split]]
    return {
        "active_splits": int(active.sum()),
        "empty_nodes": n_nodes - int(passed.sum()),
        "leaves": int((tree.is_leaf & passed).sum()),
        "activity": float(tree.activity.sum() / n_nodes),
    }


def smallest_within_error(
    size: np.ndarray, score: np.ndarray, error: np.ndarray, loss: np.ndarray
) -> int:
    """Find the smallest candidate within one standard error of the best score.

    Parameters
    ----------
    size, score, error, loss : ndarray of shape (S,)
        Of each candidate; ``error`` is the standard error of its score.

    Returns
    -------
    int
        Among equals in size the one with the lower loss.
    """
    if np.isnan(score).any():  # a single row has no R2
        return int(np.argmin(loss))
    best = min(np.flatnonzero(score == score.max()), key=lambda i: loss[i])
    good = np.flatnonzero(score >= score[best] - error[best])
    return int(min(good, key=lambda i: (size[i], loss[i])))


def _on_validation(
    path: PruningPath, i: int, data: TrainingData, labels: tuple | None
) -> tuple[float, float, float]:
    """Mean loss, headline score and its standard error of the i-th tree."""
    truth, frame = data.y_valid, data.frame_valid
    if labels is None:
        predicted = path.predict(frame, i)
        found = scores("regression", truth, predicted)
        unit = power_of_two(truth)
        loss = ((predicted - truth) / unit) ** 2
        # R2 is 1 - loss / variance: it is as uncertain as the loss is.
        error = loss.std() / np.sqrt(len(truth)) / ((truth / unit).var() or 1.0)
        return loss.mean() * unit**2, found[headline("regression")], error
    proba = path.predict_proba(frame, i)
    of_truth = np.maximum(proba[np.arange(len(truth)), truth], SMALLEST_PROBABILITY)
    confusion = confusion_matrix(truth, proba.argmax(axis=1), len(labels))
    score, error = float(macro_f1(confusion)), macro_f1_error(confusion)
    return -np.log(of_truth).mean(), score, error
