"""All rows that training may see, and what is to be predicted of them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

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
        return encode(
            self.frame, self.target.y, held_out, task=self.task, seed=self.seed
        )
