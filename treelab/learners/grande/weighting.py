"""Estimator weights of an ensemble's trees: a softmax or a 1.5-entmax over the trees.

Entmax gives exact zeros: trees that do not decide a row have no part in it, and no
gradient from it. Weights of the exported ensemble are `treelab.trees.logits`' own.
"""

from typing import Any

import torch
from torch import Tensor

from treelab.trees.logits import FAR_BEHIND, WEIGHTINGS

_MOST_STEPS = 50  # of Newton's method; far more than are ever needed
_GPU_STEPS = 16  # on a GPU, where to ask whether it is found takes longer
_CLOSE = 1e-6  # step of the threshold below which it is found


def tree_weights(
    scores: Tensor, weighting: str, max_deciders: int | None = None
) -> Tensor:
    """Weights (..., E, B) of E trees that sum to 1 for each row, from their scores.

    The scores w(x) (..., E, B) are each tree's weight of the leaf that a row reaches.
    Softmax is the paper's (arXiv:2309.17130, section 3.3); 1.5-entmax is sparse. Only
    ``max_deciders`` trees, of the highest scores, get any weight, as in the gates of
    Shazeer et al., "Outrageously Large Neural Networks", arXiv:1701.06538.
    """
    if weighting not in WEIGHTINGS:
        raise ValueError(f"weighting must be one of {WEIGHTINGS}, got {weighting!r}.")
    if max_deciders is not None and max_deciders < scores.shape[-2]:
        highest, tree = scores.topk(max_deciders, dim=-2, sorted=False)
        weights = tree_weights(highest, weighting)
        return torch.zeros_like(scores).scatter(-2, tree, weights)
    return scores.softmax(-2) if weighting == "softmax" else _Entmax15.apply(scores)


def weighted_prediction(
    tree_output: Tensor,
    leaf_weight: Tensor,
    active: Tensor | None = None,
    *,
    weighting: str = "softmax",
    max_deciders: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Raw outputs (..., C, B) of the ensemble, and its trees' weights (..., E, B).

    ``G(x) = sigma(w(x)) . p(x)``: section 3.3, equation 7, of arXiv:2309.17130, where
    sigma is the softmax over the trees; entmax is ours. p(x), (..., E, C, B), are each
    tree's raw outputs, w(x) is ``leaf_weight``, the scores of `tree_weights`. Trees
    that are not ``active`` (..., E, B or 1), None: all, get no weight, and the others'
    weights are rescaled to sum to one (section 3.4, dropout).
    """
    if active is not None:
        leaf_weight = leaf_weight.masked_fill(~active, FAR_BEHIND)
    estimator_weights = tree_weights(leaf_weight, weighting, max_deciders)
    output = (estimator_weights[..., None, :] * tree_output).sum(-3)
    return output, estimator_weights


def entropy(estimator_weights: Tensor) -> Tensor:
    """Entropy (..., B), in nats, of the weights (..., E, B) of each row's trees.

    Renyi's of order 2: the logarithm of the effective number of trees, 1 over the sum
    of squared weights; 0 where one tree decides, log E where all do alike. Unlike
    Shannon's it has a finite gradient at weights of exactly zero.
    """
    return -estimator_weights.square().sum(-2).log()


class _Entmax15(torch.autograd.Function):
    """``(scores / 2 - tau)_+ ** 2`` that sums to 1 over the trees.

    The sum is convex and falls in tau, so Newton's steps from the left of the root
    never pass it: no sort, which many trees make slow. Peters et al., "Sparse
    Sequence-to-Sequence Models", arXiv:1905.05702, with its Jacobian.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        """Find the threshold, and save the weights' square roots."""
        half = scores.detach() / 2
        tau = half.amax(-2, keepdim=True) - 1  # (..., 1, B)
        for _ in range(_GPU_STEPS if scores.is_cuda else _MOST_STEPS):
            root = (half - tau).clamp_(min=0)
            excess = root.square().sum(-2, keepdim=True) - 1
            step = excess / (2 * root.sum(-2, keepdim=True))
            tau += step.clamp(min=0)
            if not scores.is_cuda and not bool((step > _CLOSE).any()):
                break
        root = (half - tau).clamp_(min=0)
        root /= root.square().sum(-2, keepdim=True).sqrt()
        ctx.save_for_backward(root)
        return root.square()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        """Jacobian ``diag(s) - s s' / sum(s)`` of the roots s, times the gradient."""
        (root,) = ctx.saved_tensors
        moved = root * gradients[0]
        mean = moved.sum(-2, keepdim=True) / root.sum(-2, keepdim=True)
        return moved - root * mean
