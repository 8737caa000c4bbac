"""More rows of the rarer classes, made between neighbours of one class."""

import numpy as np

NEIGHBOURS = 5


def smote_rows(
    x: np.ndarray, y: np.ndarray, *, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Make rows until every class has as many as the largest.

    Source: Chawla et al., "SMOTE", JAIR 2002, arXiv:1106.1813, by imbalanced-learn. A
    class with a single row has no neighbour and stays as it is.

    Parameters
    ----------
    x : ndarray of shape (n, F)
        Encoded training rows.
    y : ndarray of shape (n,)
        Class codes.

    Returns
    -------
    x : ndarray of shape (m, F)
        The made rows alone, in the dtype given.
    y : ndarray of shape (m,)
        Their classes.
    """
    from imblearn.over_sampling import SMOTE

    counts = np.bincount(y)
    wanted = {
        code: counts.max()
        for code, count in enumerate(counts)
        if 2 <= count < counts.max()
    }
    if not wanted:
        return x[:0], y[:0]
    fewest = min(counts[code] for code in wanted)
    maker = SMOTE(
        sampling_strategy=wanted,
        k_neighbors=min(NEIGHBOURS, fewest - 1),
        random_state=seed,
    )
    more_x, more_y = maker.fit_resample(x, y)
    return more_x[len(x) :].astype(x.dtype), more_y[len(y) :]
