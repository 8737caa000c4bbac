"""What the prunings of a tree score by, from rows that it was not fitted to."""

import numpy as np
import pandas as pd

from treelab.evaluation.pruning import class_sums, value_sums
from treelab.trees.pruning import cost_complexity_path, steps_at
from treelab.trees.tree import Tree


def sums_at_sizes(tree: Tree, X: pd.DataFrame, y, sizes: np.ndarray) -> np.ndarray:
    """The sums (S, 2, n_classes or 1) of the prunings to S sizes."""
    path = cost_complexity_path(tree)
    if tree.classes is None:
        part = tree.apply(X), np.asarray(y, dtype=float), np.ones(len(y))
        sums = value_sums(path, [part])[:, 0]
    else:
        sums = class_sums(path, tree.node_counts(X, y), tree.predicted_class)
    return sums[steps_at(path, sizes)]
