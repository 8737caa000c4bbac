"""What each column predicts alone, from 0 as guessing to 1 as knowing."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.data.leaks import SETTLED, TOO_FEW, sampled_rows, scores_alone
from treelab.data.problem import Problem


@dataclass(frozen=True, eq=False)
class Alone:
    """What each column predicts alone, the best first.

    Attributes
    ----------
    names : list of str
    power : float array of shape (k,)
        In [0, 1]: how far the held-out score of a small tree of the column lies from
        guessing, 0, to exact predictions, 1.
    leaks : list of str
        Columns that settle the target by themselves.
    n_rows : int
        Rows looked at: all, or a sample. 0 if they are too few.
    """

    names: list[str]
    power: np.ndarray
    leaks: list[str]
    n_rows: int


def alone(frame: pd.DataFrame, problem: Problem) -> Alone:
    """Measure what each column to predict from predicts alone.

    The scores are those of ``treelab/data/leaks.py``: balanced accuracy, rescaled so
    that guessing is 0, or R2. Below guessing counts as 0.
    """
    columns, target = problem.table(frame), frame[problem.target]
    scores = dict(scores_alone(columns, target, problem.task))
    n_rows = len(sampled_rows(target, columns.shape[1]))
    if not scores or n_rows < TOO_FEW:
        return Alone([], np.zeros(0), [], 0)
    guess = 0.0
    if problem.task != "regression":
        guess = 1 / target.nunique()
    power = {name: max(0.0, (s - guess) / (1 - guess)) for name, s in scores.items()}
    names = sorted(power, key=lambda name: -power[name])
    return Alone(
        names,
        np.array([power[name] for name in names]),
        [name for name in names if scores[name] >= SETTLED],
        n_rows,
    )
