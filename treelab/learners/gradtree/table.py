"""All rows that training may see, and what is to be predicted of them."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from treelab.learners.common.constrained.column_rules import ColumnRules
from treelab.learners.common.objective import Objective
from treelab.learners.gradtree.encodings import Encoding, encode
from treelab.learners.gradtree.selection import TargetRows


@dataclass(frozen=True)
class Table:
    """All rows that training may see, and what is to be predicted of them.

    Attributes
    ----------
    frame : DataFrame
    target : TargetRows
    objective : Objective
    values : ndarray of shape (n, C)
        Indicators of the classes, or standardised values: what starts are grown on.
    task : str
    seed : int
    """

    frame: pd.DataFrame
    target: TargetRows
    objective: Objective
    values: np.ndarray
    task: str
    seed: int

    @property
    def by_class(self) -> bool:
        """Whether classes are predicted."""
        return self.target.classes is not None

    def encode(self, held_out: np.ndarray) -> Encoding:
        """Encode the rows as those that are not held out know them."""
        encoding = encode(
            self.frame, self.target.y, held_out, task=self.task, seed=self.seed
        )
        encoding = replace(encoding, weight=self.weights)
        constraints = self.target.constraints
        if not constraints.limits_splits:
            return encoding
        features = encoding.encoder.features_
        rules = ColumnRules.of(constraints, features, self.target.classes)
        return replace(encoding, rules=rules)

    @property
    def weights(self) -> np.ndarray:
        """Weight (n,) of each row while splits are trained: what its errors cost."""
        return self.objective.row_weights(self.target.y)[:, 0]
