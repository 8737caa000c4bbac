"""All rows that training may see, and what is to be predicted of them."""

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from treelab.learners.common.constrained.column_rules import ColumnRules
from treelab.learners.common.objective import Objective
from treelab.learners.common.target_scale import TargetScale
from treelab.learners.gradtree.encodings import Encoding, encode
from treelab.learners.gradtree.selection import TargetRows
from treelab.trees.tree import Tree


@dataclass(frozen=True)
class Table:
    """All rows that training may see, and what is to be predicted of them.

    Attributes
    ----------
    frame : DataFrame
    target : TargetRows
        Values in the unit of ``scale``, so that their own does not matter.
    objective : Objective
    values : ndarray of shape (n, C)
        Indicators of the classes, or standardised values: what starts are grown on.
    task : str
    seed : int
    scale : TargetScale, default=TargetScale()
        Of values; classes have none.
    """

    frame: pd.DataFrame
    target: TargetRows
    objective: Objective
    values: np.ndarray
    task: str
    seed: int
    scale: TargetScale = field(default_factory=TargetScale)

    @property
    def by_class(self) -> bool:
        """Whether classes are predicted."""
        return self.target.classes is not None

    @property
    def y(self) -> np.ndarray:
        """Class codes, or values in the unit of ``scale``, (n,)."""
        return self.target.y

    def encode(self, held_out: np.ndarray) -> Encoding:
        """Encode the rows as those that are not held out know them."""
        y = self.target.y if self.by_class else self.scale.restore(self.target.y)
        encoding = encode(self.frame, y, held_out, task=self.task, seed=self.seed)
        encoding = replace(encoding, weight=self.weights)
        constraints = self.target.constraints
        if not constraints.limits_splits:
            return encoding
        features = encoding.encoder.features_
        rules = ColumnRules.of(constraints, features, self.target.classes)
        return replace(encoding, rules=rules)

    def restore(self, tree: Tree) -> Tree:
        """Return a tree that learned from the target in the target's own unit."""
        return tree if self.by_class else self.scale.restore_tree(tree)

    @property
    def weights(self) -> np.ndarray:
        """Weight (n,) of each row while splits are trained: what its errors cost."""
        return self.objective.row_weights(self.target.y)[:, 0]
