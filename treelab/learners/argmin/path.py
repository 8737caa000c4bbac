"""The path over pruning strengths: what each tree scores, and which one is chosen."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.data.encoding import power_of_two
from treelab.evaluation.metrics import headline, scores
from treelab.learners.argmin.export import TrainedTree, TreeExporter, trained_trees
from treelab.learners.argmin.fit import loses_nothing
from treelab.learners.argmin.network import ArgminTrees
from treelab.learners.common.base import TrainingData
from treelab.learners.common.origin import (
    Origin,
    changed_splits,
    feature_spread,
    with_origin,
)
from treelab.trees.predictor import NodePredictor
from treelab.trees.pruning import within_one_standard_error
from treelab.trees.pruning_path import PruningPath, shown_tree
from treelab.trees.tree import Tree

SMALLEST_PROBABILITY = 1e-7  # the loss of a probability of 0 has no bound
SIMPLER = "leaving out columns"


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


def chosen_path(
    exporter: TreeExporter, restarts: Sequence[Sequence[TrainedTree]]
) -> tuple[PruningPath, int]:
    """Choose a restart, and its strength; a predictor on top where one is wanted.

    With ``predictor="auto"`` the predictor stays where its validation score is better
    than that of the trees alone by more than one standard error.

    Parameters
    ----------
    exporter : TreeExporter
    restarts : sequence of sequence of TrainedTree
        Of each restart the trees of all strengths.

    Returns
    -------
    path : PruningPath
    restart : int
    """
    settings, data = exporter.settings, exporter.data
    drawn = [[(exporter.export(tree), None) for tree in each] for each in restarts]
    alone = best_path([scored_path(models, exporter) for models in drawn], exporter)
    if settings.reads_leaf:
        return alone
    both = [[*map(exporter.export_with_predictor, each)] for each in restarts]
    on_top = best_path([scored_path(models, exporter) for models in both], exporter)
    if settings.predictor == "auto" and loses_nothing(
        row_scores(on_top[0], data), row_scores(alone[0], data)
    ):
        return alone
    return on_top


def scored_path(
    models: Sequence[tuple[Tree, NodePredictor | None]], exporter: TreeExporter
) -> PruningPath:
    """Bind the trees of all strengths, and score them on validation rows.

    Parameters
    ----------
    models : sequence of (Tree, NodePredictor or None)
        One for each strength.
    exporter : TreeExporter

    Returns
    -------
    PruningPath
        Its ``scores``: strength, valid_loss (nats, or squared units of the target),
        valid_score (see ``metrics.headline``), and the columns of ``size_of``.
    """
    settings, data = exporter.settings, exporter.data
    trees, predictors = zip(*models)
    path = PruningPath(settings.strengths, trees, predictors, split=settings.split)
    table = pd.DataFrame(
        {"strength": strength}
        | _on_validation(path, i, data)
        | size_of(trees[i], settings.n_nodes)
        for i, strength in enumerate(path.strengths)
    )
    return replace(path, scores=table)


def best_path(
    paths: Sequence[PruningPath], exporter: TreeExporter
) -> tuple[PruningPath, int]:
    """Choose a tree of all paths; return its path, and that path's place.

    The choice is the smallest tree whose validation score is within one standard error
    of the best; among equals in size that of the lower loss. Or, as in the paper, that
    of the best validation loss.
    """
    places = [(e, i) for e, path in enumerate(paths) for i in range(len(path))]
    every = [replace(paths[e], chosen=i) for e, i in places]
    loss = np.array([path.scores["valid_loss"][path.chosen] for path in every])
    size = np.array([path.tree.n_leaves for path in every])
    order = np.lexsort([loss, size])
    chosen = int(loss.argmin())
    if exporter.settings.selection == "one_standard_error":
        by_size = np.array([row_scores(every[i], exporter.data) for i in order])
        chosen = int(order[within_one_standard_error(by_size)[0]])
    return every[chosen], places[chosen][0]


def drawn_row_scores(exporter: TreeExporter, network: ArgminTrees) -> np.ndarray:
    """Return each validation row's score (E, n) by a network's trees as drawn."""
    trees = map(exporter.export, trained_trees(network))
    return np.array([row_scores(tree, exporter.data) for tree in trees])


def predictor_row_scores(network: ArgminTrees) -> np.ndarray:
    """Return each validation row's score (E, n), minus its loss, by the predictor."""
    return -network.valid_losses().double().cpu().numpy()


def row_scores(model: Tree | PruningPath, data: TrainingData) -> np.ndarray:
    """Return each validation row's score (n,), higher is better.

    Whether its class is right, the rows of all classes together counting alike; or
    minus the squared error.
    """
    predicted, truth = model.predict(data.frame_valid), data.y_valid
    weight = data.row_weight_valid
    if model.classes is None:
        # In no unit.
        return -weight * ((predicted - truth) / power_of_two(truth)) ** 2
    _, code = np.unique(truth, return_inverse=True)
    count = np.bincount(code, weight)
    is_right = predicted == np.array(model.classes)[truth]
    return weight * is_right * (weight.sum() / (len(count) * count))[code]


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


def with_origins(
    path: PruningPath,
    first: Tree,
    *,
    start: str,
    trained: bool,
    simplified: bool,
    matrix: np.ndarray,
    held_out: str,
) -> tuple[PruningPath, Origin]:
    """Return the path with an origin noted on every tree, and that of the chosen one.

    Counted are the splits that are shown: those that part training rows.

    Parameters
    ----------
    path : PruningPath
    first : Tree
        As the tree was before the first step.
    start : str
        A key of ``origin.STARTS``.
    trained, simplified : bool
        Whether gradient descent could move the trees, and whether columns were left
        out of them.
    matrix : ndarray of shape (n_rows, n_features)
        Features of the training rows, in their units.
    held_out : str
        What was held out.
    """
    spread, first = feature_spread([*matrix.T]), shown_tree(first)
    origins = [
        Origin(
            start,
            trained=trained,
            n_splits=tree.n_splits,
            n_changed=changed_splits(first, tree, spread) if trained else 0,
            later=(SIMPLER,) * simplified,
            held_out=held_out,
        )
        for tree in map(shown_tree, path.trees)
    ]
    trees = [with_origin(tree, origin) for tree, origin in zip(path.trees, origins)]
    return replace(path, trees=tuple(trees)), origins[path.chosen]


def _on_validation(path: PruningPath, i: int, data: TrainingData) -> dict[str, float]:
    """Mean loss and headline score of the i-th tree."""
    truth, frame = data.y_valid, data.frame_valid
    predicted = path.predict(frame, i)
    if path.classes is None:
        unit = power_of_two(truth)
        squares = ((predicted - truth) / unit) ** 2
        loss = np.average(squares, weights=data.weight_valid) * unit**2
        task = "regression"
    else:
        proba = path.predict_proba(frame, i)[np.arange(len(truth)), truth]
        nats = -np.log(np.maximum(proba, SMALLEST_PROBABILITY))
        loss = np.average(nats, weights=data.weight_valid)
        task, truth = path.task, np.array(path.classes)[truth]
    found = scores(task, truth, predicted, sample_weight=data.weight_valid)
    return {"valid_loss": loss, "valid_score": found[headline(task)]}
