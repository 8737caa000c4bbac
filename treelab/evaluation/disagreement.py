"""Where two models answer differently, and which of them is nearer the truth."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Disagreement:
    """Rows that two models answer differently.

    Attributes
    ----------
    rows : DataFrame
        One row a row that differs: ``place`` (its position, from 0), ``truth``,
        ``first`` and ``second`` (the answers), and ``better`` (0 or 1 for the model
        that is right, or nearer; -1 where they are equally good).
    n_rows : int
        Rows that both answered.
    first_better, second_better : int
        Rows on which the one is right and the other wrong, or nearer than the other.
    apart : float or None
        Mean distance between two answers in the target's unit; None for classes.
    """

    rows: pd.DataFrame
    n_rows: int
    first_better: int
    second_better: int
    apart: float | None = None

    @property
    def neither(self) -> int:
        """Rows that differ and on which neither is better."""
        return len(self.rows) - self.first_better - self.second_better


def disagreement(task: str, y_true, first, second) -> Disagreement:
    """Find the rows on which two models differ.

    Parameters
    ----------
    task : {"binary", "multiclass", "regression"}
    y_true, first, second : array-like of shape (n_rows,)
        Truth and both models' answers.

    Returns
    -------
    Disagreement
        Classes in the order of the rows; numbers with the answers that lie furthest
        apart first.
    """
    truth, first, second = map(np.asarray, (y_true, first, second))
    apart = None
    if task == "regression":
        misses = [np.abs(said.astype(float) - truth) for said in (first, second)]
        distance = np.abs(first.astype(float) - second)
        apart = float(distance.mean())
        place = np.argsort(-distance, kind="stable")
        place = place[distance[place] > 0]
    else:
        misses = [(said != truth).astype(float) for said in (first, second)]
        place = np.flatnonzero(first != second)
    better = np.select([misses[0] < misses[1], misses[1] < misses[0]], [0, 1], -1)
    rows = pd.DataFrame(
        {
            "place": place,
            "truth": truth[place],
            "first": first[place],
            "second": second[place],
            "better": better[place],
        }
    )
    return Disagreement(
        rows,
        len(truth),
        int((rows["better"] == 0).sum()),
        int((rows["better"] == 1).sum()),
        apart,
    )
