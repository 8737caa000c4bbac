"""Simpler trees: fewer columns and splits, trained on, as few as lose nothing.

Not in the paper. Shapes: E strengths, T nodes, N splits, F features, n rows.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from treelab.learners.argmin.network import ArgminTrees
from treelab.ops.losses import log_proba
from treelab.trees.pruning.sparse_sums import N_COLUMNS, approximations


def simplify_trees(
    network: ArgminTrees,
    train_again: Callable[[], bool],
    *,
    row_scores: Callable[[ArgminTrees], np.ndarray],
    sparse: bool,
    max_leaf_nodes: int | None = None,
) -> Iterator[np.ndarray]:
    """Leave splits and columns out of the trees, step by step, and train on.

    Splits that part no training rows go first, and the least active ones of a tree
    with too many leaves. Then every split is left with 21 columns, 13, 8, 5, 3, 2
    and 1. After each step all parameters are trained on.

    Parameters
    ----------
    network : ArgminTrees
        Trained; changed in place.
    train_again : callable
        Trains the network's parameters as they now are; returns whether to stop.
    row_scores : callable
        Returns each validation row's score (E, n) by the trees of a network, higher is
        better.
    sparse : bool
        Whether columns are left out.
    max_leaf_nodes : int or None, default=None
        Leaves of a tree at the most.

    Yields
    ------
    ndarray of shape (E,), bool
        After each step, the trees that lost nothing: their mean score on validation
        rows is within one standard error, that of the difference, of the score of the
        tree as it was trained first; or as it was cut to so many leaves.
    """
    dense = row_scores(network)
    n_features = network.weights.shape[2]
    numbers = [n for n in N_COLUMNS[::-1] if n < n_features] if sparse else []
    for n_columns in [n_features, *numbers]:
        drop_empty_splits(network)
        if max_leaf_nodes is not None:
            limit_leaves(network, max_leaf_nodes)
        keep_columns(network, n_columns)
        stopped = train_again()
        scores = row_scores(network)
        accepted = lose_nothing(dense, scores)
        if max_leaf_nodes is not None and n_columns == n_features:
            dense, accepted = scores, np.ones_like(accepted)
        yield accepted
        if stopped or not accepted.any():
            break


def lose_nothing(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Whether scores (E, n) after are within one standard error of those before, (E,).

    The error is that of the difference: the same rows score both.
    """
    lost = before - after
    error = lost.std(1, ddof=1) / np.sqrt(lost.shape[1]) if lost.shape[1] > 1 else 0.0
    return lost.mean(1) <= error + 1e-9 * np.abs(before).mean(1)  # in any unit


@torch.no_grad()
def network_row_scores(network: ArgminTrees) -> np.ndarray:
    """Return each validation row's score (E, n) by the predictor on top."""
    if network.loss_scale is not None:
        return -_array(network.valid_row_losses()[0])
    network.eval()
    predicted, truth = [], []
    for rows, output in network.valid_outputs():
        predicted.append(log_proba(output).argmax(1))  # (E, B)
        truth.append(rows.y)
    network.train()
    found, y = torch.cat(predicted, 1), torch.cat(truth)
    return class_scores(found.cpu().numpy(), y.cpu().numpy())


def class_scores(predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return whether predicted classes (..., n) are right, as scores.

    Rows of all classes (n,) together count alike: the mean is the macro recall.
    """
    _, code, count = np.unique(truth, return_inverse=True, return_counts=True)
    weight = len(code) / (len(count) * count)
    return (predicted == truth) * weight[code]


@torch.no_grad()
def drop_empty_splits(network: ArgminTrees) -> None:
    """Let the side that all training rows take stand in the place of its split."""
    for e, moves in enumerate(_moves(network)):
        place, origin = (list(nodes) for nodes in zip(*[(p, o[-1]) for p, o in moves]))
        first = network.layers[0][e].clone()
        for node, old in moves:  # what the predictor read of nodes that go, it reads on
            network.layers[0][e, :, node] = first[:, old].sum(1)
        if network.preference is not None:
            network.preference[e, place] = network.preference[e, origin]
        network.node_mask[e] = 0
        network.node_mask[e, place] = 1
        n_splits = network.bias.shape[1]
        splits = [(p, o) for p, o in zip(place, origin) if max(p, o) < n_splits]
        place, origin = [p for p, _ in splits], [o for _, o in splits]
        for of_splits in (network.weights, network.bias, network.column_mask):
            of_splits[e, place] = of_splits[e, origin]


def _moves(network: ArgminTrees) -> list[list[tuple[int, list[int]]]]:
    """For each tree its nodes: where each shall stand, and the nodes it is made of.

    The last of these is the node itself, those before it are splits of one side.
    """
    active, rows_at = _reached(network)
    n_splits = network.bias.shape[1]
    found = []
    for e in range(network.n_candidates):
        moves, waiting = [], [(0, 0)]
        while waiting:
            node, old = waiting.pop()
            path = [old]
            children = (2 * old + 1, 2 * old + 2)
            while old < n_splits and active[e, children].any():
                filled = [child for child in children if rows_at[e, child] > 0]
                if len(filled) == 2:
                    waiting += zip((2 * node + 1, 2 * node + 2), children)
                    break
                old = filled[0]
                path.append(old)
                children = (2 * old + 1, 2 * old + 2)
            moves.append((node, path))
        found.append(moves)
    return found


@torch.no_grad()
def limit_leaves(network: ArgminTrees, max_leaf_nodes: int) -> None:
    """Let the least active last splits go until each tree has few enough leaves."""
    activity = _array(network.reference_activity())
    children = np.arange(1, network.n_nodes).reshape(-1, 2)  # (N, 2)
    for e in range(network.n_candidates):
        alive = _array(network.node_mask[e]) > 0
        while alive[children[:, 0]].sum() >= max_leaf_nodes:  # splits: leaves less 1
            is_split = np.append(
                alive[children[:, 0]], np.zeros(len(children) + 1, bool)
            )
            last = is_split[: len(children)] & ~is_split[children].any(1)
            below = np.where(last, activity[e, children].max(1), np.inf)
            alive[children[below.argmin()]] = False
        network.node_mask[e] = torch.tensor(alive)


def _reached(network: ArgminTrees) -> tuple[np.ndarray, np.ndarray]:
    """Which nodes are active for a training row (E, T), and the rows at each (E, T)."""
    left = network.scores(network.rows.x) >= 0  # (E, N, n)
    rows = left.new_ones(network.n_candidates, 1, left.shape[2])
    levels = [rows]
    for level in range(network.settings.depth):
        turns = left[:, 2**level - 1 : 2 ** (level + 1) - 1]
        rows = torch.stack([rows & turns, rows & ~turns], 2).flatten(1, 2)
        levels.append(rows)
    rows_at = torch.cat(levels, 1).sum(2).cpu().numpy()
    active = _array(network.reference_activity()) > 0
    return active & (rows_at > 0), rows_at


@torch.no_grad()
def keep_columns(network: ArgminTrees, n_columns: int) -> None:
    """Approximate every split's sum, on the rows that reach it, with few columns."""
    weights = _array(network.sparse_weights())
    x = _array(network.rows.x).T
    left = (network.scores(network.rows.x) >= 0).cpu().numpy()  # (E, N, n)
    for e in range(network.n_candidates):
        node = np.zeros(len(x), dtype=int)
        for t in range(weights.shape[1]):
            here = node == t
            node[here] = np.where(left[e, t, here], 2 * t + 1, 2 * t + 2)
            if not here.any() or network.node_mask[e, 2 * t + 1] == 0:
                continue
            for sparse, lacking in approximations(x[here], weights[e, t]):
                if (sparse != 0).sum() == n_columns:
                    network.weights[e, t] = torch.tensor(sparse)
                    network.column_mask[e, t] = torch.tensor(sparse != 0)
                    network.bias[e, t] += lacking


def _array(tensor: Tensor) -> np.ndarray:
    """A tensor as float64."""
    return tensor.detach().cpu().double().numpy()
