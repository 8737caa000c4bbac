"""A near row that any model predicts otherwise, found by a search with a budget.

The nearest rows that the model predicts as wanted lend their values; then one column
after another goes back to the row's own value while the prediction stays.
"""

from typing import Protocol

import numpy as np
import pandas as pd

from treelab.evaluation.counterfactuals.changes import (
    Changes,
    Counterfactual,
    Wanted,
    same,
)

MOST_ROWS = 2000  # that may lend their values
N_LENDERS = 5


class Predicts(Protocol):
    """What the search needs of a model."""

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return a label or a value a row."""
        ...


def searched_counterfactuals(
    model: Predicts, changes: Changes, wanted: Wanted, columns, most: int = 3
) -> list[Counterfactual]:
    """Return near rows that the model predicts as wanted; nearer ones may exist.

    Parameters
    ----------
    model : object with ``predict``
    changes : Changes
    wanted : Wanted
    columns : sequence of str
        Columns that the model reads; the others stay.
    most : int, default=3

    Returns
    -------
    list of Counterfactual
        Nearest first, no two of the same values; empty where none was found.
    """
    X = changes.known.X
    if len(X) > MOST_ROWS:
        X = X.sample(MOST_ROWS, random_state=0)
    lenders = X[wanted.accepts(model.predict(X))]
    borrowed = [_borrow(row, changes, columns) for _, row in lenders.iterrows()]
    far = [sum(changes.cost(c, v) for c, v in own.items()) for own in borrowed]
    found: list[Counterfactual] = []
    for place in np.argsort(far, kind="stable")[: 4 * N_LENDERS]:
        values = borrowed[place]
        if not wanted.accepts(model.predict(changes.changed(values)))[0]:
            continue  # a locked column mattered
        values = _reverted(model, changes, wanted, values)
        prediction = model.predict(changes.changed(values))[0]
        made = changes.counterfactual(values, prediction)
        if all(made.changes != other.changes for other in found):
            found.append(made)
        if len(found) == N_LENDERS:
            break
    return sorted(found, key=lambda own: own.distance)[:most]


def _borrow(row: pd.Series, changes: Changes, columns) -> dict:
    """Values of another row, where they differ and may be taken."""
    return {
        column: row[column]
        for column in columns
        if not same(changes.value(column), row[column])
        and changes.allows(column, row[column])
    }


def _reverted(model, changes: Changes, wanted: Wanted, values: dict) -> dict:
    """Take back changes, the costliest first, while the prediction stays."""
    values = dict(values)
    while values:
        without = [
            changes.changed({c: v for c, v in values.items() if c != column})
            for column in values
        ]
        good = wanted.accepts(model.predict(pd.concat(without)))
        free = [column for column, own in zip(values, good) if own]
        if not free:
            break
        del values[max(free, key=lambda column: changes.cost(column, values[column]))]
    return values
