"""What GRANDE's trees must keep: while they train, and for good as they are exported.

Each epoch ends with a projection: splits that leave too few rows are closed, leaves are
put in order. What encoded and user's columns disagree on is settled in the export.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch

from treelab.learners.common.constrained.column_rules import ColumnRules
from treelab.learners.grande.constrained.complete import close_small, put_in_order
from treelab.learners.grande.network import WeightedTreesNetwork
from treelab.ops.select import chosen_split
from treelab.training.plan import Scheduler
from treelab.trees.constraints.boxes import node_boxes
from treelab.trees.constraints.constraints import Constraints
from treelab.trees.constraints.isotonic import isotonic, output_of
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import feature_matrix
from treelab.trees.tree import Tree


def output_signs(
    constraints: Constraints, classes: tuple | None, n_outputs: int
) -> np.ndarray:
    """Return which outputs of a leaf grow with what has the order, int (n_outputs,).

    Of more than two classes the logit of the one that is meant must not fall and those
    of the others not rise: then its probability does not fall.
    """
    if classes is None:
        return np.ones(1, dtype=np.int64)
    meant = output_of(classes, constraints)
    if n_outputs == 1:  # the logit of the second class
        return np.array([1 if meant == 1 else -1])
    return np.where(np.arange(n_outputs) == meant, 1, -1)


@dataclass
class Keeper:
    """Constraints on the splits and leaves of a network while it trains.

    Attributes
    ----------
    network : WeightedTreesNetwork
    rules : ColumnRules
        In the order of the encoded features.
    output_sign : int array of shape (n_outputs,)
        See ``output_signs``.
    """

    network: WeightedTreesNetwork
    rules: ColumnRules
    output_sign: np.ndarray

    @torch.no_grad()
    def keep(self) -> None:
        """Close splits that leave too few rows, and put leaves in order."""
        network = self.network
        x = network.rows.x.cpu().numpy()
        for fold in range(network.logits.shape[0]):
            columns = None if network.columns is None else network.columns[fold]
            place, feature, threshold = chosen_split(
                network.logits[fold], network.threshold[fold], columns
            )
            own, tested = threshold.cpu().numpy(), feature.cpu().numpy()
            if self.rules.min_samples_leaf > 1:
                rows = np.flatnonzero(network.train_weight[fold].cpu().numpy() > 0)
                close_small(x, rows, tested, own, self.rules.min_samples_leaf)
                closed = torch.from_numpy(own).to(threshold)
                network.threshold[fold].scatter_(
                    -1, place[..., None], closed[..., None]
                )
            if self.rules.sign.any():
                value = network.leaf_value[fold].cpu().numpy()
                put_in_order(tested, own, self.rules.sign, self.output_sign, value)
                network.leaf_value[fold].copy_(torch.from_numpy(value))


class KeepingEachEpoch:
    """A schedule after which, at the end of each epoch, constraints are kept.

    Parameters
    ----------
    schedule : Scheduler
    keeper : Keeper
    n_steps : int
        Steps an epoch.
    """

    def __init__(self, schedule: Scheduler, keeper: Keeper, n_steps: int):
        self.schedule = schedule
        self.keeper = keeper
        self.n_steps = n_steps
        self._done = 0

    def step(self) -> None:
        """Take one step."""
        self.schedule.step()
        self._done += 1
        if self._done % self.n_steps == 0:
            self.keeper.keep()

    def state_dict(self) -> dict:
        """State for a checkpoint."""
        return {"done": self._done, "schedule": self.schedule.state_dict()}

    def load_state_dict(self, saved: dict) -> None:
        """Go back to a state."""
        self._done = saved["done"]
        self.schedule.load_state_dict(saved["schedule"])


def kept_trees(
    trees: WeightedTrees, frame: pd.DataFrame, constraints: Constraints
) -> WeightedTrees:
    """Return an ensemble whose every tree keeps its constraints on every possible row.

    Parameters
    ----------
    trees : WeightedTrees
    frame : DataFrame
        The training rows.
    constraints : Constraints
    """
    if constraints.monotone or constraints.min_samples_leaf > 1:
        # Branches without rows are not drawn, and leaves beside them take their boxes.
        trees = _without_small(trees, frame, constraints.min_samples_leaf)
    if constraints.monotone:
        trees = _in_order(trees, frame, constraints)
    return trees


def _without_small(
    trees: WeightedTrees, frame: pd.DataFrame, least: int
) -> WeightedTrees:
    """Send all rows one way where a split leaves a side too few of them."""
    matrix = feature_matrix(trees.features, frame)
    threshold, missing_left = trees.threshold.copy(), trees.missing_left.copy()
    for e in range(trees.n_estimators):
        node = np.zeros(len(matrix), dtype=np.int64)
        for level in range(trees.depth):
            nodes = np.arange(2**level - 1, 2 ** (level + 1) - 1)
            value = matrix[np.arange(len(matrix)), trees.feature[e, node]]
            goes_left = np.where(
                np.isnan(value), missing_left[e, node], value <= threshold[e, node]
            )
            n_all = np.bincount(node, minlength=nodes[-1] + 1)[nodes]
            n_left = np.bincount(node, goes_left, minlength=nodes[-1] + 1)[nodes]
            small = np.minimum(n_left, n_all - n_left) < least
            to_left = 2 * n_left >= n_all
            closed = nodes[small]
            threshold[e, closed] = np.where(to_left[small], np.inf, -np.inf)
            missing_left[e, closed] = to_left[small]
            at = node - nodes[0]
            goes_left = np.where(small[at], to_left[at], goes_left)
            node = 2 * node + np.where(goes_left, 1, 2)
    return replace(trees, threshold=threshold, missing_left=missing_left)


def _in_order(
    trees: WeightedTrees, frame: pd.DataFrame, constraints: Constraints
) -> WeightedTrees:
    """Put the leaves of each tree in order: the nearest values that are."""
    counted = trees.with_rows(frame)
    assert counted.n_rows is not None
    n_outputs = trees.leaf_value.shape[2]
    signs = output_signs(constraints, trees.classes, n_outputs)
    value = trees.leaf_value.copy()
    leaves = np.arange(trees.n_leaves - 1, 2 * trees.n_leaves - 1)
    for e in range(trees.n_estimators):
        tree = Tree.complete(
            trees.features,
            trees.feature[e],
            trees.threshold[e],
            trees.missing_left[e],
            np.zeros((trees.n_leaves, 1)),
        )
        pairs = node_boxes(tree).of(leaves).ordered(constraints.monotone)
        weight = np.maximum(counted.n_rows[e, leaves], 1e-3)
        for output, sign in enumerate(signs):
            if len(pairs):
                wanted = sign * value[e, :, output]
                value[e, :, output] = sign * isotonic(wanted, weight, pairs)
    return replace(trees, leaf_value=value)
