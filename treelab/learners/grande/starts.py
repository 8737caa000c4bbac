"""Where GRANDE's trees start: at random, or as greedy trees that were grown before."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.utils.parallel import Parallel, delayed
from torch import Tensor

from treelab.learners.common.greedy_ensemble import GROWERS
from treelab.learners.common.starts import plant, random_splits

STARTS = ("random", *GROWERS)
MAX_COLUMNS = 64  # features that a tree grown before may use, where a table has more
FEWEST_COLUMNS = 5  # a tree's share of the features is never fewer, where there are
SPREAD = 0.05  # standard deviation of random leaf values and weights


@dataclass(frozen=True)
class Starts:
    """Parameters of E trees before the first step.

    Attributes
    ----------
    logits, threshold : Tensor of shape (E, N, K)
    leaf_value : Tensor of shape (E, L, C)
    columns : LongTensor of shape (E, K) or None
        Features that each tree may use; None: all, in order.
    """

    logits: Tensor
    threshold: Tensor
    leaf_value: Tensor
    columns: Tensor | None


def draw_columns(
    offered: Sequence[np.ndarray], share: float, random: np.random.RandomState
) -> np.ndarray:
    """Draw which of the features on offer each tree may use, (E, K), ascending.

    Parameters
    ----------
    offered : sequence of E ndarrays
        Features that each tree may be given.
    share : float
        Share of them that it is given; `FEWEST_COLUMNS` where there are, at least.
    """
    n_offered = min(len(own) for own in offered)
    n_columns = max(min(FEWEST_COLUMNS, n_offered), round(share * n_offered))
    drawn = [random.permutation(own)[:n_columns] for own in offered]
    return np.sort(drawn, axis=1)


def random_starts(
    x: Tensor,
    columns: np.ndarray,
    *,
    depth: int,
    n_outputs: int,
    generator: torch.Generator,
) -> Starts:
    """Draw features, thresholds from the values of the rows ``x``, and leaf values."""
    columns = _as_tensor(columns, x)
    n_trees, n_splits = len(columns), 2**depth - 1
    logits, threshold = random_splits(x, n_trees, n_splits, generator, columns=columns)
    options = {"generator": generator, "device": x.device}
    leaf_value = SPREAD * torch.randn(n_trees, n_splits + 1, n_outputs, **options)
    return Starts(logits, threshold, leaf_value, _unless_all(columns, x))


def greedy_starts(
    kind: str,
    x: Tensor,
    y: np.ndarray,
    weight: np.ndarray,
    columns: np.ndarray,
    *,
    depth: int,
    n_classes: int,
    generator: torch.Generator,
    random: np.random.RandomState,
) -> Starts:
    """Start every group of trees as an ensemble grown greedily on the group's rows.

    Splits below a greedy tree's leaves start at random.

    Parameters
    ----------
    kind : str
        One of `GROWERS`.
    x : Tensor of shape (n, F)
        Encoded training rows.
    y : ndarray of shape (n,)
        Class codes, or standardised values.
    weight : ndarray of shape (G, n)
        What each row counts for each group of trees; 0 where the group holds it out.
    columns : ndarray of shape (G * E, K)
        Features that each tree may test. Of more than `MAX_COLUMNS` it keeps those
        that it does test and random others.
    n_classes : int
        0 for regression.
    """
    rows = x.cpu().numpy()
    seeds = random.randint(2**31, size=len(weight))
    grown = Parallel(n_jobs=torch.get_num_threads(), prefer="threads")(
        delayed(GROWERS[kind])(
            rows, y, counts, own, depth=depth, n_classes=n_classes, seed=seed
        )
        for counts, own, seed in zip(weight, np.split(columns, len(weight)), seeds)
    )
    trees = [tree for group in grown for tree in group]
    if columns.shape[1] > MAX_COLUMNS:
        kept = [
            np.concatenate([used, random.permutation(np.setdiff1d(own, used))])
            for own, used in zip(columns, (tree.used() for tree in trees))
        ]
        columns = np.sort([own[:MAX_COLUMNS] for own in kept], axis=1)
    columns = _as_tensor(columns, x)
    logits, threshold = random_splits(
        x, len(trees), 2**depth - 1, generator, columns=columns
    )
    for e, tree in enumerate(trees):
        plant(logits[e], threshold[e], tree.feature, tree.threshold, columns[e])
    value = torch.as_tensor(np.stack([t.value for t in trees]), dtype=x.dtype)
    return Starts(logits, threshold, value.to(x.device), _unless_all(columns, x))


def _as_tensor(columns: np.ndarray, x: Tensor) -> Tensor:
    """Columns as a tensor beside the rows."""
    return torch.as_tensor(columns, device=x.device)


def _unless_all(columns: Tensor, x: Tensor) -> Tensor | None:
    """None where every tree may use every feature, which is faster."""
    return None if columns.shape[1] == x.shape[1] else columns
