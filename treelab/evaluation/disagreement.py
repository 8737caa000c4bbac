"""On which rows two models differ, and which of them is right or nearer there."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Disagreement:
    """Rows for which two models predict differently.

    Attributes
    ----------
    rows : DataFrame
        One row a row that differs: ``position`` (from 0), ``truth``, ``first`` and
        ``second`` (the predictions), and ``better`` (0 or 1 for the model that is
        right, or nearer; -1 where they are equally good).
    n_rows : int
        Rows that both predicted.
    first_better, second_better : int
        Rows on which the one is right and the other wrong, or nearer than the other.
    mean_distance : float or None
        Mean absolute difference of the predictions in the target's unit; None for
        classes.
    """

    rows: pd.DataFrame
    n_rows: int
    first_better: int
    second_better: int
    mean_distance: float | None = None

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
        Truth and both models' predictions.

    Returns
    -------
    Disagreement
        Classes in the order of the rows; numbers with the largest difference first.
    """
    truth, first, second = map(np.asarray, (y_true, first, second))
    mean_distance = None
    if task == "regression":
        errors = [np.abs(each.astype(float) - truth) for each in (first, second)]
        distance = np.abs(first.astype(float) - second)
        mean_distance = float(distance.mean())
        position = np.argsort(-distance, kind="stable")
        position = position[distance[position] > 0]
    else:
        errors = [(each != truth).astype(float) for each in (first, second)]
        position = np.flatnonzero(first != second)
    better = np.select([errors[0] < errors[1], errors[1] < errors[0]], [0, 1], -1)
    rows = pd.DataFrame(
        {
            "position": position,
            "truth": truth[position],
            "first": first[position],
            "second": second[position],
            "better": better[position],
        }
    )
    return Disagreement(
        rows,
        len(truth),
        int((rows["better"] == 0).sum()),
        int((rows["better"] == 1).sum()),
        mean_distance,
    )


def misclassified(y_true, y_pred) -> np.ndarray:
    """Return the positions, from 0, of the rows whose class is predicted wrongly."""
    return np.flatnonzero(np.asarray(y_pred) != np.asarray(y_true))
