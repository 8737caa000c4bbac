"""The batch of trees that GradTree trained on all rows, of which one is retained."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treelab.data.encoding.table_encoder import TableEncoder
from treelab.learners.gradtree.hard_tree import HardTree
from treelab.trees.midpoints import with_midpoint_thresholds
from treelab.trees.tree import Tree


@dataclass(frozen=True)
class Batch:
    """Trees that were trained side by side on the same rows.

    Attributes
    ----------
    trees : sequence of HardTree
    encoder : TableEncoder
        What their columns are.
    classes : tuple or None
        Labels by code; None for regression.
    weights : ndarray of shape (n_classes,)
        Of the classes in the leaves; (1,) for regression.
    """

    trees: Sequence[HardTree]
    encoder: TableEncoder
    classes: tuple | None
    weights: np.ndarray

    def export(self, X, y) -> list[Tree]:
        """Return the trees in the user's columns and units; leaves are not fitted.

        Parameters
        ----------
        X, y
            The rows that they were trained on; thresholds move midway between them.
        """
        n_outputs = 1 if self.classes is None else len(self.classes)
        exported = [
            hard.export(self.encoder, n_outputs, self.classes) for hard in self.trees
        ]
        return [with_midpoint_thresholds(tree.with_rows(X, y)) for tree in exported]
