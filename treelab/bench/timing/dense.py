"""Hard trees as published code writes them: sums over leaf paths, by autograd.

The yardstick of the speed benchmark. It builds tensors of size ``E * N * F * B`` and
``E * L * D * B``, as the formulas in GradTree (arXiv:2305.03515) and GRANDE
(arXiv:2309.17130) read when they are typed in one to one.
"""

import torch
from entmax import entmax15
from torch import Tensor
from torch.nn import functional

from treelab.ops.decide import decide


def dense_axis_trees(
    x: Tensor,
    logits: Tensor,
    threshold: Tensor,
    leaf_value: Tensor,
    columns: Tensor | None = None,
    soft: str = "logistic",
) -> Tensor:
    """Raw output of each tree for each row; shapes as in ``ops.axis_trees``.

    ``g(x) = sum_l lambda_l prod_j (p S + (1 - p) (1 - S))``: equations 2 and 3 of
    arXiv:2309.17130.
    """
    choice = entmax15(logits, dim=-1)
    hard = functional.one_hot(choice.argmax(-1), logits.shape[-1]).to(choice.dtype)
    choice = hard.detach() + (choice - choice.detach())  # (E, N, K)
    offered = x[None].expand(len(logits), -1, -1)
    if columns is not None:
        offered = x[:, columns].transpose(0, 1)  # (E, B, K)
    bound = torch.einsum("enk,enk->en", choice, threshold)
    value = torch.einsum("enk,ebk->enb", choice, offered)
    soft_left = decide(bound[..., None] - value, soft=soft, hard=False)
    hard_left = (soft_left >= 0.5).to(soft_left.dtype)
    left = hard_left.detach() + (soft_left - soft_left.detach())
    split, goes_left = _paths(leaf_value.shape[1], logits.device)  # (L, D)
    decision = left[:, split]  # (E, L, D, B)
    goes_left = goes_left[..., None]
    factor = goes_left * decision + (1 - goes_left) * (1 - decision)
    return torch.einsum("elb,elc->ecb", factor.prod(2), leaf_value)


def _paths(n_leaves: int, device) -> tuple[Tensor, Tensor]:
    """Splits (L, D) on the decision path to each leaf, and 1 where it goes left."""
    depth = n_leaves.bit_length() - 1
    node = torch.arange(n_leaves, device=device) + n_leaves - 1
    splits, goes_left = [], []
    for _ in range(depth):
        goes_left.append((node % 2).float())
        node = (node - 1) // 2
        splits.append(node)
    return torch.stack(splits[::-1], 1), torch.stack(goes_left[::-1], 1)
