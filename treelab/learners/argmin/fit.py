"""Between start and choice: training along the strengths, the trees, and which one.

The path over pruning strengths is followed from small to large, each tree going on from
its neighbour's splits: a homotopy, as the regularisation paths of Friedman, Hastie and
Tibshirani (Journal of Statistical Software 33, 2010).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
import torch

from treelab.data.encoding import power_of_two
from treelab.data.split import some_rows
from treelab.evaluation.metrics import headline_score
from treelab.evaluation.pruning import pooled_scores
from treelab.learners.argmin.network import REFERENCE_ROWS, ArgminTrees
from treelab.learners.argmin.settings import ArgminSettings
from treelab.learners.common.base import TrainingData
from treelab.learners.common.origin import (
    Origin,
    changed_splits,
    feature_spread,
    with_origin,
)
from treelab.learners.common.target import TargetScale
from treelab.ops.activity import path_scores
from treelab.training.events import HISTORY, Callback, Monitor, RetainedCurve
from treelab.training.loop import TrainingPlan, train
from treelab.training.optimizers import CutOnPlateau, QHAdam
from treelab.trees.feature import feature_matrix
from treelab.trees.predictor import NodePredictor
from treelab.trees.pruning import (
    N_COLUMNS,
    approximations,
    merge_equal,
    within_one_standard_error,
)
from treelab.trees.pruning_path import PruningPath, shown_tree
from treelab.trees.tree import LEAF, OBLIQUE, Tree, leaf_of, sum_up, with_leaves

EPOCHS_AGAIN = 8  # training goes on for this fraction of the epochs, at each step
SMALLEST_PROBABILITY = 1e-7  # the loss of a probability of 0 has no bound
SIMPLER = "leaving out columns"


# Training: at the first strength, then from one to the next.


@dataclass(frozen=True)
class TrainedTree:
    """A network's tree as float64 arrays, breadth first, T nodes, N splits.

    ``weights`` (N, F), ``bias`` (N,): a row turns left where ``weights @ x + bias`` is
    at least 0; ``fixed`` (N,) as in ``ArgminTrees``. ``activity`` (T,). ``layers`` of
    the predictor are weight, bias, ...; the first reads T nodes, then perhaps F
    features.
    """

    weights: np.ndarray
    bias: np.ndarray
    fixed: np.ndarray
    activity: np.ndarray
    layers: tuple[np.ndarray, ...]

    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Find the nodes that are left, the root first, and the children of each.

        Returned are their numbers (n_nodes,) in the complete tree, and the places of
        their children (n_nodes, 2) among these, left and right; -1 for leaves.
        """
        numbers, children, waiting = [], [], [0]
        for node in waiting:  # grows on the way
            while node < len(self.fixed) and abs(self.fixed[node]) == 1:
                node = 2 * node + (1 if self.fixed[node] > 0 else 2)
            numbers.append(node)
            if node < len(self.fixed) and np.isnan(self.fixed[node]):
                children.append((len(waiting), len(waiting) + 1))
                waiting += [2 * node + 1, 2 * node + 2]
            else:
                children.append((-1, -1))
        return np.array(numbers), np.array(children)


@torch.no_grad()
def trained_trees(network: ArgminTrees) -> list[TrainedTree]:
    """Return a network's trees with its current parameters."""
    splits = map(_array, (network.sparse_weights(), network.bias, network.fixed))
    layers = zip(*map(_array, network.layers))
    return [*map(TrainedTree, *splits, _array(network.activity()), layers)]


@dataclass(frozen=True)
class PathPoint:
    """The trees of one strength, trained: one a restart."""

    trees: list[TrainedTree]
    valid_loss: np.ndarray  # (E,)
    n_stages: int  # that they had come through


class PathTraining:
    """Trains several trees side by side, each along all pruning strengths.

    The ``network`` is changed in place; refused are fewer training rows than a tree has
    nodes. The ``seed`` draws the batches, ``snapshot`` exports a tree. ``row_scores``
    returns each validation row's score (n,) by an exported tree, higher is better; by
    it trees with fewer columns lose nothing. None: minus the predictor's loss.

    ``starts`` are the trees before the first step, ``points`` those of each strength;
    ``simplified`` (E,) says whether columns were left out of a tree.
    """

    def __init__(
        self,
        network: ArgminTrees,
        seed: int,
        *,
        snapshot: Callable[[TrainedTree], Tree],
        row_scores: Callable[[Tree], np.ndarray] | None = None,
        callbacks: Sequence[Callback] = (),
    ):
        self.network, self.settings, self.seed = network, network.settings, seed
        self.snapshot, self.row_scores = snapshot, row_scores
        n_nodes, n_rows = self.settings.n_nodes, len(network.rows.y)
        if n_rows < n_nodes:
            raise ValueError(
                f"depth={self.settings.depth} gives {n_nodes} nodes, but there are "
                f"n_samples={n_rows} training rows; with so few, depth must be at most "
                f"{max(int(np.log2(n_rows + 1)) - 1, 0)}."
            )
        self.starts = trained_trees(network)
        self.simplified = np.zeros(network.n_candidates, dtype=bool)
        self.points: list[PathPoint] = []
        self._stopped = False
        every = np.ones(network.n_candidates, dtype=bool)
        first = Monitor(self.settings.max_epochs, callbacks, snapshot=self._leader)
        self._stages = [(first, every)]  # and which trees came through it
        drawn = some_rows(n_rows, REFERENCE_ROWS)
        rows = torch.as_tensor(drawn, device=network.bias.device)
        with torch.no_grad():
            losses = network.batch_loss(rows), network.valid_loss()
        first.report(0, *map(_array, losses))

    def run(self) -> None:
        """Train the trees of each strength, nodes of one emptied at all later ones."""
        network, settings = self.network, self.settings
        self._train(settings.max_epochs)
        most = settings.max_leaf_nodes
        if most is not None and most < 2**settings.depth:
            network.empty_nodes(most_active(network, most))
            self._train_again("fewer leaves")
        if settings.sparse_splits:
            self._leave_out_columns()
        for strength in settings.strengths:
            network.pruning_strength = float(strength)
            network.empty_nodes(network.live_nodes())
            self._train_again("pruning")
            network.empty_nodes(network.rows_at() > 0)
            loss = _array(network.valid_loss())
            point = PathPoint(trained_trees(network), loss, len(self._stages))
            self.points.append(point)

    def retain(self, point: PathPoint, e: int, end: Tree) -> pd.DataFrame:
        """Tell the callbacks which tree is retained; return its history."""
        through = [stage for stage, came in self._stages[: point.n_stages] if came[e]]
        rows = [row for stage in through for row in stage.curve_of(e)]
        history = pd.DataFrame(rows, columns=HISTORY)
        snapshots = {
            0: lambda: self.snapshot(self.starts[e]),
            float(history["epoch"].iloc[-1]): lambda: end,
        }
        last = self._stages[-1][0]
        last.snapshot = lambda: end
        last.show(RetainedCurve(history, snapshots))
        return history

    def _leave_out_columns(self) -> None:
        """Leave every split with 21 columns, 13, 8, 5, 3, 2 and 1, and train on.

        Not in the paper. The fewest columns stay whose mean score on validation rows is
        within one standard error, that of the difference, of the dense tree's.
        """
        network = self.network
        dense = self._row_scores()
        taken = {name: t.clone() for name, t in network.state_dict().items()}
        tried: list[np.ndarray] = []  # which trees each step was taken by
        for n_columns in N_COLUMNS[::-1]:
            if n_columns >= network.weights.shape[2] or self._stopped:
                continue
            keep_columns(network, n_columns)
            self._train_again("fewer columns")
            after = zip(dense, self._row_scores())
            fine = np.array([loses_nothing(*scores) for scores in after])
            tried.append(fine)
            for name, now in network.state_dict().items():
                taken[name][torch.tensor(fine)] = now[torch.tensor(fine)]
        network.load_state_dict(taken)
        for i in range(len(tried)):
            came = np.any(tried[i:], axis=0)  # through a step that was taken, or before
            at = i - len(tried)
            self._stages[at] = (self._stages[at][0], came)
            self.simplified |= came

    def _row_scores(self) -> np.ndarray:
        """Each validation row's score (E, n) by the trees as they are."""
        if self.row_scores is None:
            return -_array(self.network.valid_losses())
        trees = map(self.snapshot, trained_trees(self.network))
        return np.array([*map(self.row_scores, trees)])

    def _train_again(self, stage: str) -> None:
        """Train the trees as they now are for some more epochs."""
        if self._stopped:
            return
        epochs = max(1, self.settings.max_epochs // EPOCHS_AGAIN)
        before, every = self._stages[-1][0], np.ones_like(self.simplified)
        monitor = before.next_stage(stage, epochs, snapshot=self._leader)
        self._stages.append((monitor, every))
        self._train(epochs)

    def _train(self, max_epochs: int) -> None:
        """Train by quasi-hyperbolic Adam, to the best parameters found."""
        network, settings = self.network, self.settings
        rate = network.bias.new_full((network.n_candidates,), settings.learning_rate)
        n_rows = len(network.rows.y)
        result = train(
            network,
            QHAdam(network.parameters(), rate),
            TrainingPlan(
                n_rows=n_rows,
                batch_size=min(settings.batch_size, n_rows),
                max_epochs=max_epochs,
                patience=settings.patience,
                has_open_end=True,
            ),
            generator=torch.Generator(rate.device).manual_seed(self.seed),
            monitor=self._stages[-1][0],
            after_epoch=CutOnPlateau(rate, patience=settings.plateau),
        )
        self._stopped = result.reason == "callback"

    def _leader(self) -> Tree:
        """The tree of the lowest validation loss as it is now, exported."""
        loss = self.network.valid_loss().nan_to_num(nan=np.inf)
        return self.snapshot(trained_trees(self.network)[int(loss.argmin())])


def loses_nothing(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether scores (n,) after are within one standard error of those before.

    The error is that of the difference: the same rows score both.
    """
    lost = before - after
    error = lost.std(ddof=1) / np.sqrt(len(lost)) if len(lost) > 1 else 0.0
    return bool(lost.mean() <= error + 1e-9 * np.abs(before).mean())  # in any unit


def most_active(network: ArgminTrees, max_leaf_nodes: int) -> np.ndarray:
    """Find the nodes (E, T) that are left once the least active leaves have gone."""
    every, activity = network.live_nodes(), _array(network.activity())
    for live, a in zip(every, activity):
        while True:
            splits = live[1:].reshape(-1, 2).any(1)  # (N,)
            leaf = live & ~np.append(splits, np.zeros(len(splits) + 1, bool))
            if leaf.sum() <= max_leaf_nodes:
                break
            live[np.where(leaf, a, np.inf).argmin()] = False
    return every


@torch.no_grad()
def keep_columns(network: ArgminTrees, n_columns: int) -> None:
    """Approximate every split's sum, on the rows that reach it, with few columns.

    By orthogonal matching pursuit.
    """
    x = network.rows.x.double().cpu().numpy().T
    reached = (path_scores(network.scores(network.rows.x)) > 0).cpu().numpy()
    weights = _array(network.sparse_weights())
    for at in map(tuple, torch.nonzero(network.fixed.isnan()).tolist()):
        if reached[at].any():
            for sparse, lacking in approximations(x[reached[at]], weights[at]):
                if (sparse != 0).sum() == n_columns:
                    network.weights[at] = torch.tensor(sparse)
                    network.column_mask[at] = torch.tensor(sparse != 0)
                    network.bias[at] += lacking


def _array(tensor: torch.Tensor) -> np.ndarray:
    """A tensor as float64."""
    return tensor.detach().cpu().double().numpy()


# Export: the tree that is drawn, in the user's units, and a predictor on top.


@dataclass(frozen=True)
class TreeExporter:
    """Exports trained trees to the user's columns and units."""

    data: TrainingData  # encoded by z-scores
    settings: ArgminSettings
    labels: tuple | None = None  # classes; None for regression
    scale: TargetScale = field(default_factory=TargetScale)  # of the training target
    # (n_classes,): weight of a row of each class; None: all count alike.
    class_weight: np.ndarray | None = None

    @cached_property
    def matrix(self) -> np.ndarray:
        """Features of the training rows, (n_rows, F), in their units."""
        return feature_matrix(self.data.encoder.features_, self.data.frame)

    def export(self, trained: TrainedTree) -> Tree:
        """Return the tree as it is drawn, whose leaves predict."""
        drawn = shown_tree(self.export_splits(trained))
        drawn = replace(drawn, between=None, missing_rows=None)
        return merge_equal(self._with_own_leaves(drawn))

    def export_with_predictor(self, trained: TrainedTree) -> tuple[Tree, NodePredictor]:
        """Return the tree with every node that the predictor on top reads, and it."""
        tree = self._with_own_leaves(self.export_splits(trained))
        return tree, self._predictor(trained)

    def export_splits(self, trained: TrainedTree) -> Tree:
        """Return the tree with its rows; its leaves predict nothing."""
        numbers, children = trained.nodes()
        is_split, n_nodes = children[:, 0] >= 0, len(numbers)
        splits, features = numbers[is_split], self.data.encoder.features_
        weights = np.zeros((n_nodes, len(features)))
        threshold = np.full(n_nodes, np.nan)
        # Left where weights @ x + bias >= 0, that is where -weights @ x <= bias.
        weights[is_split], threshold[is_split] = self.data.encoder.oblique_splits(
            -trained.weights[splits], trained.bias[splits]
        )
        tree = Tree(
            features,
            left=children[:, 0],
            right=children[:, 1],
            feature=np.where(is_split, OBLIQUE, LEAF),
            threshold=threshold,
            missing_left=np.zeros(n_nodes, dtype=bool),
            value=np.zeros((n_nodes, self.data.n_outputs)),
            n_rows=np.zeros(n_nodes),
            impurity=np.zeros(n_nodes),
            classes=self.labels,
            weights=weights,
            activity=trained.activity[numbers],
        )
        return self._with_rows(tree)[0]

    def _with_rows(self, tree: Tree) -> tuple[Tree, np.ndarray]:
        """The tree with its training rows, and the leaf of each."""
        leaf = leaf_of(tree, self.matrix)
        data = self.data
        return with_leaves(tree, self.matrix, leaf, data.y, data.weight), leaf

    def _with_own_leaves(self, tree: Tree) -> Tree:
        """The tree with what its training rows say at each node.

        Class probabilities, or means; a node without rows has its parent's.
        """
        tree, leaf = self._with_rows(tree)
        if tree.class_counts is not None:
            weight = 1.0 if self.class_weight is None else self.class_weight
            total = tree.class_counts * weight
            size = total.sum(axis=1)
        else:
            weight = 1.0 if self.data.weight is None else self.data.weight
            at_leaf = np.bincount(leaf, weight * self.data.y, tree.n_nodes)
            total, size = sum_up(tree, at_leaf)[:, None], tree.mass
        value = total / np.where(size > 0, size, 1)[:, None]
        for node in tree.depth_first[size[tree.depth_first] == 0]:
            value[node] = value[tree.parent[node]]
        return replace(tree, value=value, class_weights=self.class_weight)

    def _predictor(self, trained: TrainedTree) -> NodePredictor:
        """The predictor on the nodes that are left, and on columns in their units."""
        uses_x, encoder = self.settings.uses_x, self.data.encoder
        weights, biases = trained.layers[::2], trained.layers[1::2]
        layers = [(weight, bias[:, 0]) for weight, bias in zip(weights, biases)]
        weight, bias = layers[0]
        on_nodes = weight[:, trained.nodes()[0]]
        if uses_x:
            on_x, bias = encoder.linear_leaves(weight[:, len(trained.activity) :], bias)
            on_nodes = np.hstack([on_nodes, on_x])
        layers[0] = (on_nodes, bias)
        if self.labels is None:
            weight, bias = layers[-1]
            layers[-1] = (weight * self.scale.scale, self.scale.restore(bias))
        n_features = len(encoder.features_)
        return NodePredictor(
            layers=tuple(layers),
            uses_x=uses_x,
            x_mean=np.zeros(n_features) if uses_x else None,
            x_scale=np.ones(n_features) if uses_x else None,
        )


# Choice: what each tree of the path scores, and which one is retained.


def chosen_path(
    exporter: TreeExporter, restarts: Sequence[Sequence[TrainedTree]]
) -> tuple[PruningPath, int]:
    """Choose a restart, and its strength; a predictor on top where one is wanted.

    ``restarts`` have the trees of all strengths of each. With ``predictor="auto"`` the
    predictor stays where its validation score is better than that of the trees alone by
    more than one standard error.
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

    The path's ``scores``: strength, valid_loss (nats, or squared units of the target),
    valid_score (see ``metrics.headline``), and the columns of ``size_of``.
    """
    settings, data = exporter.settings, exporter.data
    trees, predictors = zip(*models)
    path = PruningPath(settings.strengths, trees, predictors, split=settings.split)
    frame, truth, weight = data.frame_valid, data.y_valid, data.weight_valid
    labels = truth if path.classes is None else np.array(path.classes)[truth]
    table = []
    for i, (strength, tree) in enumerate(zip(path.strengths, trees)):
        predicted = path.predict(frame, i)
        if path.classes is None:
            loss = np.average(_squares(predicted, truth), weights=weight)
            loss *= power_of_two(truth) ** 2
        else:
            proba = path.predict_proba(frame, i)[np.arange(len(truth)), truth]
            nats = -np.log(np.maximum(proba, SMALLEST_PROBABILITY))
            loss = np.average(nats, weights=weight)
        score = headline_score(path.task, labels, predicted, weight)
        row = {"strength": strength, "valid_loss": loss, "valid_score": score}
        table.append(row | size_of(tree, settings.n_nodes))
    return replace(path, scores=pd.DataFrame(table))


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
    chosen = int(loss.argmin())
    if exporter.settings.selection == "one_standard_error":
        size = np.array([path.tree.n_leaves for path in every])
        order = np.lexsort([loss, size])
        by_size = np.array([row_scores(every[i], exporter.data) for i in order])
        chosen = int(order[within_one_standard_error(by_size)[0]])
    return every[chosen], places[chosen][0]


def row_scores(model: Tree | PruningPath, data: TrainingData) -> np.ndarray:
    """Return each validation row's score (n,), higher is better.

    What the row makes of macro F1, whose value is the mean of these jackknife values;
    or minus the squared error.
    """
    predicted, truth = model.predict(data.frame_valid), data.y_valid
    weight = data.row_weight_valid
    if model.classes is None:
        return -weight * _squares(predicted, truth)
    called = predicted[:, None] == np.array(model.classes)  # (n, C)
    is_true = truth[:, None] == np.arange(len(model.classes))
    counts = np.stack([called & is_true, called.astype(int) + is_true], axis=1)
    return pooled_scores(weight[:, None, None] * counts, model.task)


def _squares(predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Squared errors (n,), in no unit: of the size of the largest value."""
    return ((predicted - truth) / power_of_two(truth)) ** 2


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

    def _retain(
        self,
        path: PruningPath,
        training: PathTraining,
        restart: int,
        exporter: TreeExporter,
        *,
        start: str,
        held_out: str,
    ) -> None:
        """Set the path as the model, an origin noted on every tree, and the history.

        Counted are the splits that are shown: those that part training rows.
        """
        first = shown_tree(training.snapshot(training.starts[restart]))
        spread = feature_spread(exporter.matrix)
        trained = exporter.settings.learning_rate > 0
        origins = [
            Origin(
                start,
                trained=trained,
                n_splits=tree.n_splits,
                n_changed=changed_splits(first, tree, spread) if trained else 0,
                later=(SIMPLER,) * bool(training.simplified[restart]),
                held_out=held_out,
            )
            for tree in map(shown_tree, path.trees)
        ]
        trees = map(with_origin, path.trees, origins)
        self.model_ = replace(path, trees=tuple(trees))
        self.origin_ = origins[path.chosen]
        point = training.points[path.chosen]
        self.history_ = training.retain(point, restart, self.path_.tree)
        self.n_epochs_ = int(self.history_["epoch"].iloc[-1])
