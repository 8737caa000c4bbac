"""The path over pruning strengths: what each tree scores, and which one is chosen."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.learners.base import TrainingData
from treelab.metrics import headline, scores
from treelab.trees.path import PruningPath
from treelab.trees.predictor import NodePredictor
from treelab.trees.tree import Tree

SMALLEST_SHARE = 1e-7  # a probability of 0 would cost without end


def pruning_path(
    strengths: np.ndarray,
    models: Sequence[tuple[Tree, NodePredictor | None]],
    data: TrainingData,
    labels: tuple | None,
    n_nodes: int,
    split: str,
) -> PruningPath:
    """Bind the trees of all strengths, score them on validation rows, choose one.

    The choice is the smallest tree whose validation loss is within one standard error
    of the best one's (Breiman et al. 1984, section 3.4.3); among equals the better.

    Parameters
    ----------
    strengths : ndarray of shape (S,)
        Ascending.
    models : sequence of (Tree, NodePredictor or None)
        One for each strength.
    data : TrainingData
    labels : tuple or None
        Classes; None for regression.
    n_nodes : int
        Nodes before pruning.
    split : {"linear", "elu"}
        As in ``PruningPath``.

    Returns
    -------
    PruningPath
        Its ``scores``: strength, valid_loss (nats, or squared units of the target),
        valid_score (see ``metrics.headline``), active_splits, empty_nodes (of
        ``n_nodes``, where no training row comes), leaves, activity (mean over nodes).
    """
    trees, predictors = zip(*models)
    path = PruningPath(
        strengths=strengths,
        trees=trees,
        predictors=predictors,
        chosen=0,
        scores=pd.DataFrame({"strength": strengths}),
        split=split,
    )
    rows, loss = [], []
    for i, tree in enumerate(trees):
        row_loss, score = _on_validation(path, i, data, labels)
        loss.append(row_loss)
        found = {"strength": strengths[i], "valid_loss": row_loss.mean()}
        rows.append(found | {"valid_score": score} | size_of(tree, n_nodes))
    table = pd.DataFrame(rows)
    chosen = smallest_good(table["active_splits"].to_numpy(), np.stack(loss))
    return replace(path, scores=table, chosen=chosen)


def size_of(tree: Tree, n_nodes: int) -> dict[str, float]:
    """Count what is left of ``n_nodes`` nodes, where training rows come at all."""
    split = np.flatnonzero(~tree.is_leaf)
    passed = tree.n_rows > 0
    active = passed[tree.left[split]] & passed[tree.right[split]]
    return {
        "active_splits": int(active.sum()),
        "empty_nodes": n_nodes - int(passed.sum()),
        "leaves": int((tree.is_leaf & passed).sum()),
        "activity": float(tree.activity.sum() / n_nodes),
    }


def smallest_good(size: np.ndarray, loss: np.ndarray) -> int:
    """Find the smallest candidate within one standard error of the best.

    Parameters
    ----------
    size : ndarray of shape (S,)
    loss : ndarray of shape (S, n_rows)
        Loss of each candidate on each validation row.

    Returns
    -------
    int
        Among equals in size the one with the lower loss.
    """
    mean = loss.mean(axis=1)
    best = int(np.argmin(mean))
    error = loss[best].std() / np.sqrt(loss.shape[1])
    good = np.flatnonzero(mean <= mean[best] + error)
    return int(min(good, key=lambda i: (size[i], mean[i])))


def _on_validation(path, i, data: TrainingData, labels):
    """Loss of each validation row, and the headline score, of the i-th tree."""
    truth, frame = data.y_valid, data.frame_valid
    if labels is None:
        answer = path.predict(frame, i)
        found = scores("regression", truth, answer)
        return (answer - truth) ** 2, found[headline("regression")]
    proba = path.predict_proba(frame, i)
    task = "binary" if len(labels) == 2 else "multiclass"
    found = scores(task, truth, proba.argmax(axis=1))
    share = proba[np.arange(len(truth)), truth]
    return -np.log(np.maximum(share, SMALLEST_SHARE)), found[headline(task)]
