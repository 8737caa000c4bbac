"""Hard, axis-aligned trees in one operator: select, decide and route at once."""

from collections.abc import Callable
from importlib.util import find_spec

import torch
from torch import Tensor

from treelab.ops.decide import SOFT, decide
from treelab.ops.route import route
from treelab.ops.select import check_selection, chosen_split, select

_HAS_TRITON = find_spec("triton") is not None


def axis_trees(
    x: Tensor,
    logits: Tensor,
    threshold: Tensor,
    leaf_value: Tensor,
    *,
    columns: Tensor | None = None,
    transform: str = "entmax15",
    soft: str = "logistic",
    backend: str = "auto",
) -> Tensor:
    """Prediction (E, C, B) of each tree for each row, its gradient straight-through.

    Equals ``route(decide(select(...)), leaf_value, hard=True)``, whose arguments these
    are (in the papers' symbols `logits` are I, `threshold` T, `leaf_value` L), and so
    do the faster kernels that compute it; those give no gradient to `x`. The backend
    "auto" takes the fastest that is there: numba on the CPU, Triton on CUDA in float32,
    torch everywhere else.

    Sources: Marton et al., "GradTree", arXiv:2305.03515, section 3.4, algorithm 1 (the
    tree pass function); "GRANDE", arXiv:2309.17130, section 3.1 (many trees at once).
    """
    check_selection(logits, threshold, x, columns, transform)
    if soft not in SOFT:
        raise ValueError(f"soft must be one of {SOFT}, got {soft!r}.")
    if leaf_value.shape[:2] != (len(logits), logits.shape[1] + 1):
        raise ValueError(
            f"{logits.shape[1]} splits a tree want {logits.shape[1] + 1} leaves, got "
            f"leaf_value of shape {tuple(leaf_value.shape)}."
        )
    backend = _resolve(backend, x)
    if backend != "torch":
        options = (transform, soft)
        return _fused(backend)(x, logits, threshold, leaf_value, columns, options)
    margin = select(logits, threshold, x, columns=columns, transform=transform)
    return route(decide(margin, soft=soft), leaf_value, hard=True)


@torch.no_grad()
def axis_leaves(
    x: Tensor,
    logits: Tensor,
    threshold: Tensor,
    *,
    columns: Tensor | None = None,
    backend: str = "auto",
) -> Tensor:
    """Leaf (E, B) that each row reaches in each tree, by a walk; left to right, from 0.

    Parameters as `axis_trees` has them.
    """
    if _resolve(backend, x) == "numba":
        from treelab.ops.axis_trees_numba import leaves_on_cpu

        return leaves_on_cpu(x, logits, threshold, columns)
    _, feature, value = chosen_split(logits, threshold, columns)  # (E, N)
    by_feature = x.t().contiguous()  # (F, B)
    row = torch.arange(len(x), device=x.device)
    node = torch.zeros(len(logits), len(x), dtype=torch.long, device=x.device)
    n_splits = logits.shape[1]
    for _ in range((n_splits + 1).bit_length() - 1):
        left = by_feature[feature.gather(1, node), row] <= value.gather(1, node)
        node = 2 * node + 2 - left.long()
    return node - n_splits


def _fused(backend: str) -> Callable[..., Tensor]:
    """The operator with its gradient in one piece, "numba" or "triton"."""
    if backend == "numba":
        from treelab.ops.axis_trees_numba import AxisTreesOnCpu

        return AxisTreesOnCpu.apply
    from treelab.ops.axis_trees_triton import AxisTreesOnCuda

    return AxisTreesOnCuda.apply


def _resolve(backend: str, x: Tensor) -> str:
    """Name of the backend to use for these rows."""
    if backend not in {"auto", "torch", "numba", "triton"}:
        raise ValueError(
            f"backend must be 'auto', 'torch', 'numba' or 'triton', got {backend!r}."
        )
    if backend != "auto":
        return backend
    if x.requires_grad:
        return "torch"
    if x.device.type == "cpu":
        return "numba"
    if x.device.type == "cuda" and x.dtype == torch.float32 and _HAS_TRITON:
        return "triton"
    return "torch"
