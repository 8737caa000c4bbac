"""Choose one feature for every split: a hard choice forward, entmax's gradient back."""

import torch
from entmax import entmax15
from torch import Tensor

# Below this fraction of the columns a product per tree costs less than one product
# over all columns of which most are thrown away.
_SMALL_SUBSET = 0.25


def select(
    logits: Tensor,
    threshold: Tensor,
    x: Tensor,
    *,
    columns: Tensor | None = None,
    transform: str = "entmax15",
) -> Tensor:
    """Margin (E, N, B) of every split: its threshold less its chosen feature's value.

    ``z = sum_i T_i h_i - sum_i x_i h_i`` with ``h = hardmax(entmax(I))``: GradTree,
    algorithm 1, lines 2, 3 and 10. Forward, the feature is the arg-max of
    ``entmax15(logits)`` (which is the arg-max of the logits). Backward, the one-hot
    choice ``h`` hands its gradient on to the transformation (straight-through). Nothing
    of size ``E * N * F * B`` is built: the forward pass is a gather, the backward pass
    one matrix product. A row goes left where its margin is >= 0.

    Of every split `logits` (E, N, K) are the feature selectors, I, and `threshold`
    (E, N, K) its threshold for every feature, T, in the units of `x` (B, F). The
    features that each tree may use are `columns` (E, K); None stands for all of them,
    in order. The choice takes the gradient of `transform`, "entmax15" or "softmax".

    Sources: Marton et al., "GradTree", AAAI 2024, arXiv:2305.03515, sections 3.2 and
    3.3; Peters et al., "Sparse Sequence-to-Sequence Models", arXiv:1905.05702 (entmax).
    """
    check_selection(logits, threshold, x, columns, transform)
    return _Select.apply(logits, threshold, x, columns, transform)


def check_selection(
    logits: Tensor, threshold: Tensor, x: Tensor, columns: Tensor | None, transform: str
) -> None:
    """Raise ValueError where shapes or the transformation do not fit `select`."""
    if logits.shape != threshold.shape or logits.ndim != 3:
        raise ValueError(
            "logits and threshold must share one shape (E, N, K), "
            f"got {tuple(logits.shape)} and {tuple(threshold.shape)}."
        )
    width = x.shape[1] if columns is None else columns.shape[1]
    if width != logits.shape[2]:
        raise ValueError(
            f"logits are over {logits.shape[2]} features, but {width} are offered."
        )
    if transform not in {"entmax15", "softmax"}:
        raise ValueError(
            f"transform must be 'entmax15' or 'softmax', got {transform!r}."
        )


def chosen_split(
    logits: Tensor, threshold: Tensor, columns: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Position among the offered features, feature and threshold of every split.

    Of the arguments of `select`. The position (E, N) is the arg-max within ``K``, the
    feature (E, N) the column of `x` that it stands for, the threshold (E, N) that at
    it.
    """
    position = logits.argmax(-1)  # (E, N)
    value = threshold.gather(-1, position[..., None])[..., 0]
    feature = position if columns is None else columns.gather(1, position)
    return position, feature, value


def transform_gradient(logits: Tensor, gradient: Tensor, transform: str) -> Tensor:
    """Gradient of the logits (..., K), given that of entmax15's or softmax's output.

    Softmax's Jacobian is ``diag(p) - p p'``, that of 1.5-entmax
    ``diag(s) - s s' / sum(s)`` with ``s = sqrt(p)`` (Peters et al., arXiv:1905.05702).
    """
    if transform == "softmax":
        p = logits.softmax(-1)
        return p * (gradient - (p * gradient).sum(-1, keepdim=True))
    # entmax looks for a support, which NaN lacks: on a GPU that would end the process.
    root = entmax15(logits.nan_to_num(), dim=-1).sqrt() + 0 * logits  # (..., K)
    weighted = root * gradient
    mean = weighted.sum(-1, keepdim=True) / root.sum(-1, keepdim=True)
    return weighted - root * mean


class _Select(torch.autograd.Function):
    """`select` with its backward pass written out."""

    @staticmethod
    def forward(ctx, logits, threshold, x, columns, transform):
        position, feature, value = chosen_split(logits, threshold, columns)
        ctx.save_for_backward(logits, threshold, x, columns, position)
        ctx.transform = transform
        n_trees, n_splits = position.shape
        picked = x.t().contiguous()[feature.reshape(-1)]  # (E * N, B)
        return value[..., None] - picked.view(n_trees, n_splits, -1)

    @staticmethod
    def backward(ctx, gradient):
        logits, threshold, x, columns, position = ctx.saved_tensors
        total = gradient.sum(-1)  # (E, N)
        grad_logits = grad_threshold = grad_x = None
        if ctx.needs_input_grad[1]:
            grad_threshold = torch.zeros_like(threshold)
            grad_threshold.scatter_(-1, position[..., None], total[..., None])
        if ctx.needs_input_grad[0]:
            moved = gradient_times_rows(gradient, x, columns)  # (E, N, K)
            moved = torch.addcmul(-moved, threshold, total[..., None])
            grad_logits = transform_gradient(logits, moved, ctx.transform)
        if ctx.needs_input_grad[2]:
            feature = position if columns is None else columns.gather(1, position)
            grad_x = torch.zeros_like(x.t())  # (F, B)
            grad_x.index_add_(0, feature.reshape(-1), -gradient.flatten(0, 1))
            grad_x = grad_x.t()
        return grad_logits, grad_threshold, grad_x, None, None


def gradient_times_rows(gradient: Tensor, x: Tensor, columns: Tensor | None) -> Tensor:
    """``sum_b gradient[e, n, b] * x[b, f]`` over each tree's features, (E, N, K)."""
    if columns is not None and columns.shape[1] < _SMALL_SUBSET * x.shape[1]:
        offered = x.t()[columns]  # (E, K, B)
        return torch.bmm(gradient, offered.transpose(1, 2))
    product = (gradient.flatten(0, 1) @ x).unflatten(0, gradient.shape[:2])
    if columns is None:
        return product
    index = columns[:, None, :].expand(-1, gradient.shape[1], -1)
    return product.gather(-1, index)
