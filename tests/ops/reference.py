"""Slow, obvious formulations that the operators are held to: dense, by autograd."""

import torch
from entmax import entmax15
from torch import Tensor


def straight_through(hard: Tensor, soft: Tensor) -> Tensor:
    """Value of `hard`, gradient of `soft` (arXiv:1308.3432)."""
    return hard.detach() + (soft - soft.detach())


def dense_select(logits, threshold, x, columns=None, transform="entmax15"):
    """Margin (E, N, B) by a product over all features with a one-hot choice."""
    soft = entmax15(logits, dim=-1) if transform == "entmax15" else logits.softmax(-1)
    one_hot = torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1])
    choice = straight_through(one_hot.to(soft.dtype), soft)  # (E, N, K)
    offered = x[None].expand(len(logits), -1, -1)  # (E, B, F)
    if columns is not None:
        offered = torch.stack([x[:, chosen] for chosen in columns])  # (E, B, K)
    return torch.einsum("enk,enk->en", choice, threshold)[..., None] - torch.einsum(
        "enk,ebk->enb", choice, offered
    )


def soft_decision(margin, soft):
    """Share that goes left, by the papers' formulas."""
    if soft == "logistic":
        return 1 / (1 + (-margin).exp())
    if soft == "softsign":
        return (margin / (1 + margin.abs()) + 1) / 2
    return entmax15(torch.stack([margin, torch.zeros_like(margin)], -1), dim=-1)[..., 0]


def dense_decide(margin, soft, hard=True):
    """Decision by straight-through, autograd doing the rest."""
    share = soft_decision(margin, soft)
    return straight_through((margin >= 0).to(share.dtype), share) if hard else share


def dense_route(left, leaf_value):
    """Sum over leaves of value times the product along the path, (E, C, B)."""
    n_leaves = leaf_value.shape[1]
    total = 0.0
    for leaf in range(n_leaves):
        node, share = leaf + n_leaves - 1, 1.0
        while node > 0:
            parent = (node - 1) // 2
            along = left[:, parent] if node % 2 else 1 - left[:, parent]
            share = share * along  # (E, B)
            node = parent
        value = leaf_value[:, leaf]  # (E, C) or (E, C, B)
        value = value[..., None] if leaf_value.ndim == 3 else value
        total = total + share[:, None] * value
    return total


def walk(left: list[int], depth: int) -> int:
    """The leaf one row reaches in one tree, by plain if and else."""
    node = 0
    for _ in range(depth):
        node = 2 * node + 1 if left[node] else 2 * node + 2
    return node - len(left)
