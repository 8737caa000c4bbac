"""Logits become probabilities, and leaf weights become estimator weights."""

import numpy as np

WEIGHTINGS = ("entmax15", "softmax")
FAR_BEHIND = -1e30  # score of a tree that takes no part
_NEWTON_STEPS = 60  # far more than are ever needed


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return exp(logits) scaled to sum to 1 along the last axis, with no overflow."""
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    raised /= raised.sum(axis=-1, keepdims=True)
    return raised


def unscaled_weights(
    scores: np.ndarray, weighting: str, max_deciders: int | None = None
) -> np.ndarray:
    """Return weights (E, ...) of E scores, up to a factor that the E have in common.

    Only so many of the highest scores, and those equal to the last of them, get any
    weight; None: all may. Those of softmax are not scaled to sum to 1: equal ones then
    add up exactly.
    """
    if max_deciders is not None and max_deciders < len(scores):
        last = np.partition(scores, -max_deciders, axis=0)[-max_deciders]
        scores = np.where(scores < last, FAR_BEHIND, scores)
    if weighting == "entmax15":
        return entmax15(scores)
    return np.exp(scores - scores.max(axis=0))


def entmax15(scores: np.ndarray) -> np.ndarray:
    """Return the 1.5-entmax of scores (E, ...) along the first axis: sparse weights.

    ``(scores / 2 - tau)_+ ** 2`` with the ``tau`` at which they sum to 1 (Peters et
    al., "Sparse Sequence-to-Sequence Models", arXiv:1905.05702). That sum is convex and
    falls in ``tau``: Newton's steps from the left never pass the root.
    """
    half = scores / 2
    tau = half.max(axis=0) - 1
    for _ in range(_NEWTON_STEPS):
        root = np.maximum(half - tau, 0)
        step = (np.square(root).sum(axis=0) - 1) / (2 * root.sum(axis=0))
        if not (step > 1e-14).any():
            break
        tau = tau + np.maximum(step, 0)
    weights = np.square(np.maximum(half - tau, 0))
    return weights / weights.sum(axis=0)


def class_probabilities(logits: np.ndarray, n_classes: int) -> np.ndarray:
    """Return probabilities (..., n_classes) of logits (..., n_outputs).

    One logit for two classes is that of the second class against the first.
    """
    if logits.shape[-1] == 1 and n_classes == 2:
        logits = np.concatenate([np.zeros_like(logits), logits], axis=-1)
    return softmax(logits)
