"""Rows that an export is likeliest to read otherwise than the model does."""

import numpy as np
import pandas as pd

from tests.trees.make import CATEGORIES
from treelab.trees.tree import AXIS, OBLIQUE

NAN = float("nan")
INF = float("inf")
NUMBERS = ("width", "age", "bmi")  # columns of ``make_tree``
JOBS = (*CATEGORIES, "Astronaut", "sales", "Sales ", "NaN", "1e5", "it's", "ü🌳")


def edge_rows(
    model, rng, n: int = 150, numbers=NUMBERS, jobs=JOBS, infinite: bool = True
) -> pd.DataFrame:
    """Numbers on thresholds and right beside them, of any size; NaN, None, infinity.

    Parameters
    ----------
    model : Tree or WeightedTrees
    rng : Generator
    n : int
        Number of rows.
    numbers : sequence of str
        Columns of numbers.
    jobs : sequence of str
        Categories of the column "job", which has missing cells, too.
    infinite : bool
        Whether a number may be infinite.
    """
    tested = (model.feature >= AXIS) & np.isfinite(model.threshold)
    on = model.threshold[tested]
    beside = [on, np.nextafter(on, INF), np.nextafter(on, -INF)]
    pool = [*beside, rng.normal(size=n), [0.0, -0.0, 1e-300, 123456789.0]]
    pool = np.concatenate([*pool, [1e308, -1e308, 1.7e308, -1.7e308]])
    if (model.feature == OBLIQUE).any() or _is_linear(model):
        # A sum that leaves float64 is an error to PostgreSQL.
        pool = pool[(pool == 0) | ((np.abs(pool) > 1e-290) & (np.abs(pool) < 1e290))]
    cells = [*pool.tolist(), *[NAN, None] * 12]
    cells += [INF, -INF] * 6 if infinite else []
    table = {
        name: [cells[i] for i in rng.integers(len(cells), size=n)] for name in numbers
    }
    kinds = [*jobs, None, None]
    table["job"] = [kinds[i] for i in rng.integers(len(kinds), size=n)]
    return pd.DataFrame(table, dtype=object)


def _is_linear(model) -> bool:
    """Whether leaves hold linear models."""
    return getattr(model, "leaf_weights", None) is not None
