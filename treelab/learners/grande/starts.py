"""Where GRANDE's trees start: at random, or as greedy trees that were grown before."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.utils.parallel import Parallel, delayed
from torch import Tensor

from treelab.learners.grande.greedy_trees import GROWERS, GreedyTree
from treelab.learners.grande.rows import FoldedRows
from treelab.learners.grande.splits import random_splits, write_greedy_splits

MAX_COLUMNS = 64  # features that a tree grown before may use, where a table has more
FEWEST_COLUMNS = 5  # a tree is given no fewer features, where there are so many
SPREAD = 0.05  # standard deviation of random leaf values and weights (Keras' own)


@dataclass(frozen=True)
class Starts:
    """Parameters of E trees before the first step.

    Attributes
    ----------
    logits, threshold : Tensor of shape (E, N, K)
        I and T of arXiv:2309.17130: selectors of the K features that a tree may use,
        and a threshold for each.
    leaf_value : Tensor of shape (E, L, C)
        L of the paper: raw outputs of each leaf.
    columns : LongTensor of shape (E, K) or None
        Features that each tree may use; None: all, in order.
    """

    logits: Tensor
    threshold: Tensor
    leaf_value: Tensor
    columns: Tensor | None


def draw_columns(
    offered: Sequence[np.ndarray], fraction: float, random: np.random.RandomState
) -> np.ndarray:
    """Draw which of the features on offer each tree may use, (E, K), ascending.

    Section 3.4 of arXiv:2309.17130, feature subset.

    Parameters
    ----------
    offered : sequence of E ndarrays
        Features that each tree may be given.
    fraction : float
        Fraction of them that it is given; `FEWEST_COLUMNS` where there are, at least.
    random : RandomState
    """
    n_offered = min(len(own) for own in offered)
    n_columns = max(min(FEWEST_COLUMNS, n_offered), round(fraction * n_offered))
    drawn = [random.permutation(own)[:n_columns] for own in offered]
    return np.sort(drawn, axis=1)


def random_starts(
    rows: FoldedRows, columns: np.ndarray, *, depth: int, generator: torch.Generator
) -> Starts:
    """Draw selectors, thresholds from the values of training rows, and leaf values."""
    x = rows.x[: rows.n_train]
    own = _as_tensor(columns, x)
    n_trees, n_splits = len(own), 2**depth - 1
    logits, threshold = random_splits(x, n_trees, n_splits, generator, columns=own)
    shape = (n_trees, n_splits + 1, rows.n_outputs)
    leaf_value = SPREAD * torch.randn(shape, generator=generator, device=x.device)
    return Starts(logits, threshold, leaf_value, _unless_all(own, x))


def normal_starts(
    rows: FoldedRows, columns: np.ndarray, *, depth: int, generator: torch.Generator
) -> Starts:
    """Draw every parameter from a normal distribution around 0.

    Thresholds then lie near the median of their feature, a standard normal score.
    """
    x = rows.x
    own = _as_tensor(columns, x)
    n_trees, n_splits = len(own), 2**depth - 1
    splits = (n_trees, n_splits, own.shape[1])
    logits, threshold, leaf_value = (
        SPREAD * torch.randn(shape, generator=generator, device=x.device)
        for shape in (splits, splits, (n_trees, n_splits + 1, rows.n_outputs))
    )
    return Starts(logits, threshold, leaf_value, _unless_all(own, x))


def greedy_starts(
    kind: str,
    rows: FoldedRows,
    columns: np.ndarray,
    *,
    n_folds: int,
    depth: int,
    generator: torch.Generator,
    random: np.random.RandomState,
) -> Starts:
    """Start every sub-ensemble as greedy trees, grown without the fold it holds out.

    Splits below a greedy tree's leaves start at random.

    Parameters
    ----------
    kind : str
        One of `GROWERS`.
    rows : FoldedRows
        The trees are grown on the training rows.
    columns : ndarray of shape (G * E, K)
        Features that each tree may test. Of more than `MAX_COLUMNS` it is left those
        that it does test and random others.
    n_folds : int
        Folds and sub-ensembles, G.
    depth : int
    generator : torch.Generator
        Draws the random splits.
    random : RandomState
        Seeds the growing and draws the other features.
    """
    trees = _grow(kind, rows, columns, n_folds, depth, random)
    if columns.shape[1] > MAX_COLUMNS:
        first = [
            np.concatenate([used, random.permutation(np.setdiff1d(own, used))])
            for own, used in zip(columns, (tree.used() for tree in trees))
        ]
        columns = np.sort([own[:MAX_COLUMNS] for own in first], axis=1)
    x = rows.x[: rows.n_train]
    own = _as_tensor(columns, x)
    logits, threshold = random_splits(
        x, len(trees), 2**depth - 1, generator, columns=own
    )
    for e, tree in enumerate(trees):
        splits = logits[e], threshold[e]
        write_greedy_splits(*splits, tree.feature, tree.threshold, own[e])
    value = torch.as_tensor(np.stack([t.value for t in trees]), dtype=x.dtype)
    return Starts(logits, threshold, value.to(x.device), _unless_all(own, x))


def _grow(
    kind: str, rows: FoldedRows, columns: np.ndarray, n_folds: int, depth: int, random
) -> list[GreedyTree]:
    """Grow the greedy trees of every fold, several folds at once."""
    train = slice(rows.n_train)
    x, y = rows.x[train].cpu().numpy(), rows.target[train].cpu().numpy()
    weight = rows.weight[train, 0].double().cpu().numpy()
    fold = rows.fold[train].cpu().numpy()
    seeds = random.randint(2**31, size=n_folds)
    grown = Parallel(n_jobs=torch.get_num_threads(), prefer="threads")(
        delayed(GROWERS[kind])(
            x,
            y,
            weight * (fold != held_out),
            own,
            depth=depth,
            n_classes=rows.n_classes,
            seed=seed,
        )
        for held_out, (own, seed) in enumerate(zip(np.split(columns, n_folds), seeds))
    )
    return [tree for of_fold in grown for tree in of_fold]


def _as_tensor(columns: np.ndarray, x: Tensor) -> Tensor:
    """Columns as a tensor beside the rows."""
    return torch.as_tensor(columns, device=x.device)


def _unless_all(columns: Tensor, x: Tensor) -> Tensor | None:
    """None where every tree may use every feature, which is faster."""
    return None if columns.shape[1] == x.shape[1] else columns
