"""GET's step as a formula typed in one to one, and how long ours takes beside it.

The yardstick walks leaf by leaf: it gathers the decisions above a leaf, stacks them
and takes their product (arXiv:2411.17003, the soft tree), one start after another.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from treelab.ops.oblique import oblique_margin, soft_route

SHAPE = {"n_starts": 10, "depth": 6, "n_features": 10, "n_rows": 4000}


def dense_oblique_tree(
    x: Tensor, weights: Tensor, threshold: Tensor, scale_factor: Tensor, leaf: Tensor
) -> Tensor:
    """Raw output of one soft oblique tree for each row.

    Parameters
    ----------
    x : Tensor of shape (F, B)
    weights : Tensor of shape (N, F)
    threshold : Tensor of shape (N,)
    scale_factor : Tensor of shape (1, 1)
    leaf : Tensor of shape (L,)

    Returns
    -------
    Tensor of shape (B,)
    """
    left = torch.sigmoid(scale_factor * (threshold[:, None] - weights @ x))
    reach = []
    for number in range(len(leaf)):
        node, path = number + len(threshold), []
        while node > 0:
            parent = (node - 1) // 2
            path.append(left[parent] if node % 2 else 1 - left[parent])
            node = parent
        reach.append(torch.stack(path).prod(0))
    return leaf @ torch.stack(reach)


def oblique_steps(
    n_starts: int, depth: int, n_features: int, n_rows: int
) -> dict[str, Callable[[], None]]:
    """Steps (forward, backward, AdamW) by the name of their formulation.

    "dense" trains one start; "ours" trains all starts.
    """
    draw: dict[str, Any] = {"generator": torch.Generator().manual_seed(0)}
    x = torch.rand(n_features, n_rows, **draw)
    y = torch.randn(n_rows, **draw)
    n_splits = 2**depth - 1
    weights = torch.randn(n_starts, n_splits, n_features, **draw).requires_grad_()
    threshold = torch.zeros(n_starts, n_splits).requires_grad_()
    leaf = torch.randn(n_starts, n_splits + 1, 1, **draw).requires_grad_()
    scale_factor = torch.full((n_starts, 1, 1), 20.0)
    optimizer = torch.optim.AdamW([weights, threshold, leaf])

    def dense() -> None:
        optimizer.zero_grad(set_to_none=True)
        output = dense_oblique_tree(
            x, weights[0], threshold[0], scale_factor[0], leaf[0, :, 0]
        )
        (output - y).square().mean().backward()
        optimizer.step()

    def ours() -> None:
        optimizer.zero_grad(set_to_none=True)
        margin = oblique_margin(x, weights, threshold)
        output = soft_route(margin, scale_factor, leaf)[:, 0]
        (output - y).square().mean(1).sum().backward()
        optimizer.step()

    return {"dense": dense, "ours": ours}
