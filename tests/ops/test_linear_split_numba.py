import numpy as np
import pytest

from treelab.ops.linear_split_numba import best_linear_split


def explained_by_ridge(design, y):
    """What a linear model with unit penalties explains of the values."""
    gram = design.T @ design + np.eye(design.shape[1])
    return y @ design @ np.linalg.solve(gram, design.T @ y)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_threshold_is_the_best_of_all_candidates(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(6 if seed % 2 else 1000, size=(40, 3)) / 10.0
    y = rng.normal(size=40)
    design = np.hstack([np.ones((40, 1)), x])
    shown = np.hstack([design, y[:, None]])
    # As many candidates as there are places, so none is left out.
    gain, best, threshold = best_linear_split(
        x, shown, min_rows=5, n_thresholds=(40, 40), n_finalists=3
    )
    gains = {}
    for column in range(3):
        values = np.unique(x[:, column])
        for middle in (values[1:] + values[:-1]) / 2:
            left = x[:, column] <= middle
            if 5 <= left.sum() <= 35:
                gains[column, middle] = (
                    explained_by_ridge(design[left], y[left])
                    + explained_by_ridge(design[~left], y[~left])
                    - explained_by_ridge(design, y)
                )
    assert gain == pytest.approx(max(gains.values()))
    assert gains[best, threshold] == pytest.approx(gain)
