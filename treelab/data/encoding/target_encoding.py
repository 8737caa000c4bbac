"""Target encoding: categories become their smoothed target rates, by scikit-learn."""

from dataclasses import dataclass

import numpy as np

from treelab.data.encoding.scale import power_of_two

FOLDS = 5
FEWEST_CROSS_FITTED = 10  # with fewer rows a fold is too small; fit plainly
# With this many rows a level, on average, a row's own target hardly moves the score of
# its level; cross-fitting would separate alike rows by their fold instead.
ROWS_A_LEVEL = 20


@dataclass(frozen=True, eq=False)
class TargetEncoding:
    """Scores of the levels of several category columns, K columns and C outputs.

    Attributes
    ----------
    scores : list of K ndarrays of shape (n_levels, C)
        Score of each level: the fraction of a class, or the mean of the target. The
        last level is the missing value.
    mean : ndarray of shape (C,)
        Target mean over all training rows, the score of a level never seen.
    cross_fitted : ndarray of shape (n_rows, K, C)
        Score of each training row, from the other folds' rows alone; in a column with
        many rows a level the level's score itself.
    """

    scores: list[np.ndarray]
    mean: np.ndarray
    cross_fitted: np.ndarray


def fit_target_encoding(
    codes: np.ndarray, n_levels: list[int], y: np.ndarray, *, task: str, seed: int
) -> TargetEncoding:
    """Learn a score for each level, cross-fitted for the training rows if need be.

    Source: Micci-Barreca 2001, doi:10.1145/507533.507538, with empirical Bayes
    smoothing, as scikit-learn's ``TargetEncoder`` has it.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, K), int64
        Level of each row in each column, -1 where it is missing.
    n_levels : list of K int
        Levels of each column, the missing one not counted.
    y : ndarray of shape (n_rows,)
        Class codes from 0, or numbers.
    task : {"binary", "multiclass", "regression"}
        Multiclass gives a score a class (C classes that occur), the others one.
    seed : int
        Shuffles the folds.

    Returns
    -------
    TargetEncoding
    """
    from sklearn import config_context
    from sklearn.preprocessing import TargetEncoder

    filled = np.where(codes < 0, n_levels, codes)  # missing is the last level
    kind, y = _target_kind(task, y)
    unit = power_of_two(y) if kind == "continuous" else 1.0
    y = y / unit if kind == "continuous" else y
    encoder = TargetEncoder(
        categories=[np.arange(n + 1) for n in n_levels],
        target_type=kind,
        cv=cross_fitting_folds(y, kind, seed),
    )
    # A caller's configuration is for their own steps: with metadata routing on this one
    # would ask for groups, and its output might be a frame.
    with config_context(enable_metadata_routing=False, transform_output="default"):
        cross_fitted = encoder.fit_transform(filled, y)
        rates = encoder.transform(filled)
    n_columns = len(n_levels)
    n_outputs = cross_fitted.shape[1] // n_columns
    n_seen = np.array([len(np.unique(column)) for column in filled.T])
    plain = (len(y) < FEWEST_CROSS_FITTED) | (len(y) >= ROWS_A_LEVEL * n_seen)  # (K,)
    cross_fitted = np.where(
        np.repeat(plain, n_outputs), rates, cross_fitted
    )  # (n_rows, K * C)
    mean = np.broadcast_to(encoder.target_mean_, n_outputs).astype(np.float64) * unit
    by_output = [
        np.stack(encoder.encodings_[k * n_outputs : (k + 1) * n_outputs], axis=1) * unit
        for k in range(n_columns)
    ]
    return TargetEncoding(
        by_output, mean, cross_fitted.reshape(len(y), n_columns, n_outputs) * unit
    )


def cross_fitting_folds(
    y: np.ndarray, kind: str, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return folds of rows as (training rows, held-out rows), stratified for classes.

    Unlike scikit-learn's stratified folds these allow a class with fewer rows than
    folds. A single row is both.
    """
    n_rows = len(y)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(n_rows)
    if kind != "continuous":
        rows = rows[np.argsort(y[rows], kind="stable")]
    if n_rows == 1:
        return [(rows, rows)]
    n_folds = min(FOLDS, n_rows)
    fold = np.empty(n_rows, dtype=np.int64)
    fold[rows] = np.arange(n_rows) % n_folds
    return [
        (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)
    ]


def _target_kind(task: str, y: np.ndarray) -> tuple[str, np.ndarray]:
    """Return scikit-learn's type of the target, and the target in that type.

    A task names what may occur; a small table may hold two classes of many, or one.
    """
    if task == "regression":
        return "continuous", y
    n_classes = len(np.unique(y))
    if n_classes == 1:
        return "continuous", np.zeros(len(y))
    return ("binary" if n_classes == 2 else "multiclass"), y
