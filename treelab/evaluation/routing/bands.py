"""Bands of a number target, that stand where classes would."""

import numpy as np

BANDS = ("low", "middle", "high")


def target_bands(y_train, y) -> tuple[np.ndarray, tuple[float, float]]:
    """Sort values of a number target into low, middle and high.

    Parameters
    ----------
    y_train : array-like of shape (n_train_rows,)
        Training values; their thirds set the borders.
    y : array-like of shape (n_rows,)
        The values to sort, in the same units.

    Returns
    -------
    band : ndarray of shape (n_rows,)
        One of ``BANDS``; a value on a border belongs to the lower band.
    borders : tuple of two float
        Between low and middle, and between middle and high.
    """
    borders = np.quantile(np.asarray(y_train, dtype=float), [1 / 3, 2 / 3])
    band = np.array(BANDS)[np.searchsorted(borders, np.asarray(y, dtype=float))]
    return band, (float(borders[0]), float(borders[1]))
