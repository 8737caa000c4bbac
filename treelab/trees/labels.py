"""Class labels: the caller's own, as plain values."""

from collections.abc import Iterable

import numpy as np


def plain_label(label):
    """Return a class label as a plain str, int, float or bool."""
    if isinstance(label, np.generic):
        label = label.item()
    if not isinstance(label, str | int | float | bool):
        raise ValueError(f"A class label must be text or a number, got {label!r}.")
    return label


def task_of(classes: tuple | None) -> str:
    """Return "binary", "multiclass" or "regression"."""
    if classes is None:
        return "regression"
    return "binary" if len(classes) <= 2 else "multiclass"


def labels(classes: Iterable) -> np.ndarray:
    """Return class labels as an array, of objects where they are of several types."""
    classes = list(classes)
    if len({type(c) for c in classes}) == 1:
        return np.array(classes)
    array = np.empty(len(classes), dtype=object)
    array[:] = classes
    return array


def most_probable(
    classes: tuple, probabilities: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the label of each row's largest probability (n_rows, n_classes).

    Where there are ``weights`` (n_classes,), probabilities are multiplied by them.
    """
    if weights is not None:
        probabilities = probabilities * weights
    return labels(classes)[probabilities.argmax(axis=1)]
