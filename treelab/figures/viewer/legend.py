"""The viewer's legend: colours of the classes, or the scale of the predictions."""

from collections.abc import Mapping, Sequence

import numpy as np

from treelab.figures.style.colors import class_colors
from treelab.figures.viewer.wording import NAME_LENGTH, plain_number
from treelab.trees.text.dot_colors import OTHER, class_fractions
from treelab.trees.text.names import short
from treelab.trees.tree import Tree

MOST_CLASSES = 8  # with a colour of their own; of more, the last stands for the rest


def class_entries(
    tree: Tree, codes: np.ndarray, colors: Mapping | None
) -> tuple[list[dict], np.ndarray | None]:
    """Return the viewer's legend, and each class's place in it.

    Parameters
    ----------
    tree : Tree
    codes : int array of shape (n_rows,)
        Class of each row.
    colors : mapping of label to hex colour, or None

    Returns
    -------
    entries : list of dict
        ``label`` and ``color``, the most frequent first; the rarest of more than
        eight together, marked ``other``. Empty for regression.
    fold : int array of shape (n_classes,) or None
    """
    if tree.classes is None:
        return [], None
    if colors is None:
        seen = np.bincount(codes, minlength=len(tree.classes))
        if not len(codes):
            seen = class_fractions(tree, 0)
        ranked = [tree.classes[i] for i in np.argsort(-seen, kind="stable")]
        colors = dict(zip(ranked, class_colors(len(ranked))))
    rank = {label: i for i, label in enumerate(colors)}
    n_own = len(rank) if len(rank) <= MOST_CLASSES else MOST_CLASSES - 1
    labels = list(colors)[:n_own]
    entries = [
        {"label": short(label, NAME_LENGTH), "color": colors[label]} for label in labels
    ]
    if len(rank) > n_own:
        rest = len(rank) - n_own
        entries.append({"label": f"{rest} others", "color": OTHER, "other": True})
    return entries, np.array([min(rank[label], n_own) for label in tree.classes])


def value_scale(trees: Sequence[Tree]) -> dict | None:
    """Return the lowest and highest prediction of all leaves; None for classes."""
    if trees[0].classes is not None:
        return None
    leaves = np.concatenate([tree.value[tree.is_leaf, 0] for tree in trees])
    return {"low": plain_number(leaves.min()), "high": plain_number(leaves.max())}
