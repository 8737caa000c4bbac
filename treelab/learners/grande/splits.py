"""Splits that trees start from: drawn at random, or those of a greedy tree."""

import numpy as np
import torch
from torch import Tensor

# A chosen feature leads by this much. entmax15 gives a feature no weight, and so no
# gradient, once it lies 2 behind; a greedy choice must stay open to change.
LEAD = 1.0
SPREAD = 0.5  # standard deviation of random logits


def random_splits(
    x: Tensor,
    n_trees: int,
    n_splits: int,
    generator: torch.Generator,
    columns: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw logits, and thresholds from the values of the rows.

    Parameters
    ----------
    x : Tensor of shape (n, F)
        Encoded training rows.
    n_trees, n_splits : int
        E and N.
    generator : torch.Generator
        On the device of ``x``.
    columns : LongTensor of shape (E, K), default=None
        The features that each tree may use.

    Returns
    -------
    logits, threshold : Tensor of shape (E, N, K)
        K is F without ``columns``.
    """
    n_rows, n_features = x.shape
    width = n_features if columns is None else columns.shape[1]
    shape = (n_trees, n_splits, width)
    logits = SPREAD * torch.randn(shape, generator=generator, device=x.device)
    row = torch.randint(n_rows, shape, generator=generator, device=x.device)
    if columns is None:
        columns = torch.arange(n_features, device=x.device)[None]
    threshold = x[row, columns[:, None].expand(n_trees, 1, -1)]
    return logits, threshold


def write_greedy_splits(
    logits: Tensor,
    threshold: Tensor,
    feature: np.ndarray,
    greedy_threshold: np.ndarray,
    columns: Tensor | None = None,
) -> None:
    """Write a greedy tree's splits over a tree's random ones.

    Parameters
    ----------
    logits, threshold : Tensor of shape (N, K)
        Of one tree, changed in place.
    feature, greedy_threshold : ndarray of shape (N,)
        As from ``lay_out``; where the feature is -1 the random split stays.
    columns : LongTensor of shape (K,), default=None
        The features that the tree may use, those of the greedy tree among them.
    """
    splits = np.flatnonzero(feature >= 0)
    if not len(splits):
        return
    chosen = torch.as_tensor(feature[splits], device=logits.device)
    if columns is not None:
        chosen = (columns[None] == chosen[:, None]).long().argmax(1)
    bound = torch.as_tensor(greedy_threshold[splits], device=logits.device)
    node = torch.as_tensor(splits, device=logits.device)
    logits[node, chosen] = logits[node].amax(1) + LEAD
    threshold[node, chosen] = bound
