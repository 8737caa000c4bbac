"""Rows and random trees for the tests of GET's parts."""

import numpy as np

from treelab.learners.get.trees import Rows


def wavy_rows(
    n_rows: int, seed: int, n_classes: int = 0, *, linear: bool = False
) -> Rows:
    """Rows whose target bends along two oblique directions, with noise."""
    rng = np.random.default_rng(seed)
    x = rng.random((n_rows, 4))
    y = np.sin(6 * (x[:, 0] + x[:, 1])) + (x[:, 2] > x[:, 3]) * 1.0
    y = y + 0.2 * rng.normal(size=n_rows)
    if n_classes:
        bounds = np.quantile(y, np.arange(1, n_classes) / n_classes)
        y = np.searchsorted(bounds, y)
    else:
        y = (y - y.mean()) / y.std()
    return Rows(x, y, np.ones(n_rows), n_classes, linear)
