"""Logits become probabilities."""

import numpy as np


def softmax(logits: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return exp(logits) scaled to sum to 1 along ``axis``, with no overflow."""
    raised = np.exp(logits - logits.max(axis=axis, keepdims=True))
    raised /= raised.sum(axis=axis, keepdims=True)
    return raised


def class_probabilities(logits: np.ndarray, n_classes: int) -> np.ndarray:
    """Return probabilities (..., n_classes) of logits (..., n_outputs).

    One logit for two classes is that of the second class against the first.
    """
    if logits.shape[-1] == 1 and n_classes == 2:
        logits = np.concatenate([np.zeros_like(logits), logits], axis=-1)
    return softmax(logits)
