"""Hard, axis-aligned trees in one operator: select, decide and route at once."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor

from treelab.ops.decide import SOFT, decide
from treelab.ops.route import route
from treelab.ops.select import check_selection, chosen_split, select

_HAS_NUMBA = find_spec("numba") is not None
_HAS_TRITON = find_spec("triton") is not None


def axis_trees(
    x: Tensor,
    logits: Tensor,
    threshold: Tensor,
    leaf_value: Tensor,
    *,
    depths: Sequence[int] | None = None,
    columns: Tensor | None = None,
    transform: str = "entmax15",
    soft: str = "logistic",
    scale_factor: float = 1.0,
    backend: str = "auto",
) -> Tensor:
    """What each tree says about each row, with the straight-through gradient.

    Equals ``route(decide(select(...)), leaf_value, hard=True)``, and so do the faster
    kernels that stand in for it; those give no gradient to `x`.

    Parameters
    ----------
    x : Tensor of shape (B, F)
        Encoded rows.
    logits, threshold : Tensor of shape (E, N, K)
        See `select`.
    leaf_value : Tensor of shape (E, L, C)
        See `route`.
    depths : sequence of E int, default=None
        Depth of each tree where they differ; a tree of depth ``d`` uses its first
        ``2**d - 1`` splits and its first ``2**d`` leaves. None: all are complete.
    columns : LongTensor of shape (E, K), default=None
        The features that each tree may use.
    transform, soft, scale_factor
        See `select` and `decide`.
    backend : {"auto", "torch", "numba", "triton"}, default="auto"
        Who computes it; "auto" takes the fastest that is there: numba on the CPU,
        Triton on CUDA in float32, torch everywhere else.

    Returns
    -------
    Tensor of shape (E, C, B)
        In the units of `leaf_value`.
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
        return _fused(backend)(
            x,
            logits,
            threshold,
            leaf_value,
            columns,
            _splits_of_each(logits, depths),
            (transform, soft, scale_factor),
        )
    parts = []
    for trees, n_splits in depth_groups(logits, depths):
        margin = select(
            logits[trees, :n_splits],
            threshold[trees, :n_splits],
            x,
            columns=None if columns is None else columns[trees],
            transform=transform,
        )
        left = decide(margin, soft=soft, scale_factor=scale_factor)
        parts.append(route(left, leaf_value[trees, : n_splits + 1], hard=True))
    return parts[0] if len(parts) == 1 else torch.cat(parts)


@torch.no_grad()
def axis_leaves(
    x: Tensor,
    logits: Tensor,
    threshold: Tensor,
    *,
    depths: Sequence[int] | None = None,
    columns: Tensor | None = None,
    backend: str = "auto",
) -> Tensor:
    """Leaf that each row reaches in each tree, by a walk; parameters as `axis_trees`.

    Returns
    -------
    LongTensor of shape (E, B)
        Leaves left to right, from 0.
    """
    if _resolve(backend, x) == "numba":
        from treelab.ops.axis_trees_numba import leaves_on_cpu

        counts = _splits_of_each(logits, depths)
        return leaves_on_cpu(x, logits, threshold, columns, counts)
    _, feature, value = chosen_split(logits, threshold, columns)  # (E, N)
    by_feature = x.t().contiguous()  # (F, B)
    row = torch.arange(len(x), device=x.device)
    parts = []
    for trees, n_splits in depth_groups(logits, depths):
        test, bound = feature[trees], value[trees]
        node = torch.zeros(len(test), len(x), dtype=torch.long, device=x.device)
        for _ in range((n_splits + 1).bit_length() - 1):
            left = by_feature[test.gather(1, node), row] <= bound.gather(1, node)
            node = 2 * node + 2 - left.long()
        parts.append(node - n_splits)
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def depth_groups(
    logits: Tensor, depths: Sequence[int] | None
) -> list[tuple[slice, int]]:
    """Runs of neighbouring trees of one depth, each with its number of splits."""
    if depths is None:
        return [(slice(None), logits.shape[1])]
    if len(depths) != len(logits) or not all(
        d >= 1 and 2**d - 1 <= logits.shape[1] for d in depths
    ):
        raise ValueError(
            f"depths must name {len(logits)} depths >= 1 that {logits.shape[1]} splits "
            f"can hold, got {list(depths)!r}."
        )
    groups, start = [], 0
    for end in range(1, len(depths) + 1):
        if end == len(depths) or depths[end] != depths[start]:
            groups.append((slice(start, end), 2 ** depths[start] - 1))
            start = end
    return groups


def _splits_of_each(logits: Tensor, depths: Sequence[int] | None) -> np.ndarray:
    """Number of splits of each tree, int64 (E,)."""
    counts = np.empty(len(logits), dtype=np.int64)
    for trees, n_splits in depth_groups(logits, depths):
        counts[trees] = n_splits
    return counts


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
    if x.device.type == "cpu" and _HAS_NUMBA:
        return "numba"
    if x.device.type == "cuda" and x.dtype == torch.float32 and _HAS_TRITON:
        return "triton"
    return "torch"
