"""A synthetic table of the size of the adult census: rows, columns, levels, gaps."""

import numpy as np
import pandas as pd

N_ROWS = 32_561
LEVELS = (9, 16, 7, 15, 6, 5, 2, 42)  # of the categories
TARGET = "income"


def census_like(n_rows: int = N_ROWS, *, seed: int = 0) -> pd.DataFrame:
    """Return six columns of numbers, eight of categories, and a target of two classes.

    A quarter of the rows is of the rarer class, as in the adult census; three columns
    of categories have gaps.
    """
    rng = np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {}
    score = np.zeros(n_rows)
    for k in range(6):
        values = rng.gamma(2 + k, 10, n_rows).round(k % 3)
        columns[f"number {k + 1}"] = values
        score += rng.normal() * (values > np.median(values))
    for k, n_levels in enumerate(LEVELS):
        code = np.minimum(rng.geometric(3 / (n_levels + 2), n_rows) - 1, n_levels - 1)
        names = np.array([f"level {k + 1}.{i + 1}" for i in range(n_levels)], object)
        columns[f"category {k + 1}"] = names[code]
        score += rng.normal(size=n_levels)[code] / 2
        if k in (0, 5, 7):
            columns[f"category {k + 1}"][rng.random(n_rows) < 0.05] = None
    score += columns["number 1"] * columns["number 2"] / 400 + rng.normal(size=n_rows)
    high = score > np.quantile(score, 0.76)
    return pd.DataFrame(columns).assign(**{TARGET: np.where(high, ">50K", "<=50K")})
