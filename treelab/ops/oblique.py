"""Oblique splits: the margins of weighted sums, and the hard walk to a leaf.

Shapes: E trees, N = 2**D - 1 splits breadth first, L = 2**D leaves, B rows, F features.
Left is where ``weights @ x <= threshold``, that is where the margin is at least zero.
"""

import numba
import numpy as np
import torch
from torch import Tensor

from treelab.ops.route import check_complete, route
from treelab.ops.soft_route_numba import SoftRouteOnCpu


def oblique_margin(x: Tensor, weights: Tensor, threshold: Tensor) -> Tensor:
    """Margin ``threshold - weights @ x`` (E, N, B) of every row at every split.

    ``b_j - a_j' x_i`` in GET's symbols (Mao and Cao, arXiv:2411.17003, section 3.1), of
    encoded rows (F, B) that all trees share, weights (E, N, F), and thresholds (E, N)
    in units of the weighted sums. At least zero where the row goes left.
    """
    # One matrix product for the splits of all trees, (E * N, B).
    flat = torch.addmm(threshold.reshape(-1, 1), weights.flatten(0, 1), x, alpha=-1)
    return flat.view(*threshold.shape, x.shape[1])


def soft_route(margin: Tensor, scale_factor: Tensor, leaf_value: Tensor) -> Tensor:
    """Value (E, C, B) that reaches the root under scaled sigmoid decisions.

    A split sends the fraction ``1 / (1 + exp(-alpha (b_j - a_j' x_i)))`` of a row left
    (Mao and Cao, "GET", arXiv:2411.17003, section 3.2, eq. 4), in words
    ``sigmoid(scale_factor * margin)``; the products of these fractions weight the
    leaves (eq. 2). On the CPU a fused kernel computes it; there a fraction below 1e-18
    counts as nothing.

    Margins are (E, N, B), values of leaves (E, L, C), and the scale factors (E, 1, 1),
    the slope of each tree's decisions, larger is harder, get no gradient. ValueError if
    there is not one split fewer than leaves, or not ``2**depth`` leaves.
    """
    if margin.device.type == "cpu" and margin.dtype in (torch.float32, torch.float64):
        check_complete(margin.shape[1], leaf_value.shape[1])
        return SoftRouteOnCpu.apply(margin, scale_factor, leaf_value)
    return route(torch.sigmoid(scale_factor * margin), leaf_value)


def hard_leaf(x: np.ndarray, weights: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Leaf (E, B) that each row reaches in each tree, found by walking, in float64.

    Leaves from 0, left to right; of encoded rows (B, F), weights (E, N, F) of the
    splits, breadth first, and their thresholds (E, N).
    """
    leaf = np.empty((len(weights), len(x)), np.int64)
    _walk(
        np.ascontiguousarray(x, dtype=np.float64),
        np.ascontiguousarray(weights, dtype=np.float64),
        np.ascontiguousarray(threshold, dtype=np.float64),
        leaf,
    )
    return leaf


@numba.njit(cache=True, nogil=True)
def _walk(x, weights, threshold, leaf):
    """Fill ``leaf`` (E, B); sums run over the features in their order."""
    n_splits = threshold.shape[1]
    for e in range(len(weights)):
        for b in range(len(x)):
            node = 0
            while node < n_splits:
                total = 0.0
                for f in range(x.shape[1]):
                    total += weights[e, node, f] * x[b, f]
                node = 2 * node + 1 if total <= threshold[e, node] else 2 * node + 2
            leaf[e, b] = node - n_splits
