"""First splits of an argmin tree: random ones, or those of hierarchical k-means.

Shapes: E trees, N splits, F features, B rows.
"""

import math

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor

SCORE_STD = 0.6  # of k-means' split scores; the program reads those from -1/2 to 1


def uniform(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Draw weights (..., out, in), uniform, as wide as torch's own linear layers."""
    return (2 * torch.rand(shape, generator=generator) - 1) / math.sqrt(shape[-1])


def random_splits(
    x: Tensor, n_trees: int, depth: int, by: str, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw weights (E, N, F), and biases (E, N) that spread the rows (F, B) evenly."""
    weights = uniform((n_trees, 2**depth - 1, len(x)), generator)
    return weights, torch.stack([even_bias(each, x.cpu(), by) for each in weights])


def even_bias(weights: Tensor, x: Tensor, by: str = "median") -> Tensor:
    """Bias (N,) with which each split sends about half of its rows to either side.

    Of the rows (F, B) that reach the split, by their "median" score or, as in appendix
    A.3, by their "mean". Without rows on both sides a split has nothing to learn from;
    the published code starts so and never trains the bias.
    """
    score = weights @ x  # (N, B)
    bias = torch.zeros(len(weights))
    node = torch.zeros(x.shape[1], dtype=torch.long)
    for t in range(len(weights)):
        here = node == t
        if here.any() and by == "mean":
            bias[t] = -score[t, here].mean()
        elif here.any():
            low, high = score[t, here].quantile(torch.tensor([0.45, 0.55]))
            bias[t] = -(low + high) / 2
        left = score[t] + bias[t] >= 0
        node = torch.where(here, torch.where(left, 2 * t + 1, 2 * t + 2), node)
    return bias


def kmeans_splits(x: np.ndarray, depth: int, seed: int) -> tuple[Tensor, Tensor]:
    """Halve the rows (B, F) by k-means, level by level; return planes between halves.

    Weights (1, N, F), splits breadth first, and bias (1, N): a row goes left, to the
    larger half, where ``x @ weights + bias >= 0``. Weights are 0 where fewer than two
    distinct rows come.
    """
    n_splits = 2**depth - 1
    weights, bias = np.zeros((n_splits, x.shape[1])), np.full(n_splits, 0.5)
    node = np.zeros(len(x), dtype=int)
    for t in range(n_splits):
        rows = np.flatnonzero(node == t)
        if len(np.unique(x[rows], axis=0)) >= 2:
            halves = KMeans(2, n_init=3, random_state=seed).fit(x[rows])
            large = int(halves.labels_.mean() > 0.5)
            near, far = halves.cluster_centers_[[large, 1 - large]]
            score = x[rows] @ (near - far) - (near @ near - far @ far) / 2
            scale = SCORE_STD / max(score.std(), 1e-12)
            weights[t] = scale * (near - far)
            bias[t] = -scale * (near @ near - far @ far) / 2
        left = x[rows] @ weights[t] + bias[t] >= 0
        node[rows] = np.where(left, 2 * t + 1, 2 * t + 2)
    return torch.tensor(weights[None]), torch.tensor(bias[None])
