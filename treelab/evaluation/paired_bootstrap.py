"""The paired bootstrap: how sure one model is better than another on some rows."""

from dataclasses import dataclass

import numpy as np

from treelab.data.encoding import power_of_two
from treelab.evaluation.metrics import LOWER_IS_BETTER, TITLES, macro_f1_of_counts

_BLOCK = 4_000_000  # numbers of a block of resampled counts


@dataclass(frozen=True)
class ScoreDifference:
    """The second model's score minus the first's, and its confidence interval.

    Attributes
    ----------
    metric : str
        Key of the score, as in ``metrics.TITLES``.
    first, second : float
        The two scores, each on all rows.
    low, high : float
        Ends of the interval of ``second - first``.
    level : float
        Confidence level of the interval, in (0, 1).
    n_rows : int
        Rows on which both were scored.
    """

    metric: str
    first: float
    second: float
    low: float
    high: float
    level: float
    n_rows: int

    @property
    def estimate(self) -> float:
        """The second score minus the first."""
        return self.second - self.first

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0

    @property
    def winner(self) -> int | None:
        """0 or 1 for the model that is clearly better, None for neither."""
        if not self.clear:
            return None
        second_is_more = self.estimate > 0
        return int(second_is_more != (self.metric in LOWER_IS_BETTER))

    @property
    def title(self) -> str:
        """The score's name for people."""
        return TITLES[self.metric]


def paired_bootstrap(
    task: str,
    y_true,
    first,
    second,
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> dict[str, ScoreDifference]:
    """Compare two models' predictions by a paired bootstrap over the rows.

    Both models are scored on the same resampled rows, so what is hard about a row
    counts for both. The interval is the percentile interval (Efron and Tibshirani,
    "An Introduction to the Bootstrap", 1993, chapter 13); it speaks of new rows,
    not of training the models again.

    Parameters
    ----------
    task : {"binary", "multiclass", "regression"}
    y_true, first, second : array-like of shape (n_rows,)
        Truth and both models' predictions: labels, or values in the target's unit.
    level : float, default=0.95
        Fraction of such intervals that hold the true difference.
    n_resamples : int, default=2000
        How many times the rows are drawn anew.
    seed : int, default=0
        Seeds the draws.

    Returns
    -------
    dict of str to ScoreDifference
        ``macro_f1`` and ``accuracy``, or ``r2``, ``rmse`` and ``mae``.

    Raises
    ------
    ValueError
        If the lengths differ or there are fewer than two rows.
    """
    y_true, first, second = map(np.asarray, (y_true, first, second))
    n_rows = len(y_true)
    if not n_rows == len(first) == len(second):
        raise ValueError(
            f"Both models must predict the same rows: {n_rows} rows of truth, "
            f"{len(first)} and {len(second)} predictions."
        )
    if n_rows < 2:
        raise ValueError(f"A comparison needs at least 2 rows, got {n_rows}.")
    rng = np.random.default_rng(seed)
    resample = _resample_values if task == "regression" else _resample_labels
    pairs = resample(y_true, first, second, n_resamples, rng)
    tail = (1 - level) / 2
    differences = {}
    for metric, (one, two) in pairs.items():
        # The first entry is the score on the rows as they are.
        low, high = np.nanquantile((two - one)[1:], [tail, 1 - tail])
        differences[metric] = ScoreDifference(
            metric, float(one[0]), float(two[0]), float(low), float(high), level, n_rows
        )
    return differences


def score_intervals(
    task: str,
    y_true,
    predicted,
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> dict[str, tuple[float, float]]:
    """Return bootstrap confidence intervals of one model's scores.

    Parameters
    ----------
    task : {"binary", "multiclass", "regression"}
    y_true, predicted : array-like of shape (n_rows,)
        At least two rows.
    level, n_resamples, seed
        As in ``paired_bootstrap``, whose resamples these are.

    Returns
    -------
    dict of str to (low, high)
        By the same names as there.
    """
    y_true, predicted = np.asarray(y_true), np.asarray(predicted)
    rng = np.random.default_rng(seed)
    resample = _resample_values if task == "regression" else _resample_labels
    pairs = resample(y_true, predicted, predicted, n_resamples, rng)
    tail = (1 - level) / 2
    ends = {
        m: np.nanquantile(one[1:], [tail, 1 - tail]) for m, (one, _) in pairs.items()
    }
    return {metric: (float(low), float(high)) for metric, (low, high) in ends.items()}


def _resample_labels(y_true, first, second, n_resamples, rng) -> dict:
    """Scores of both models for the rows and their resamples, from counted cells.

    A score depends on a row only through (truth, first, second), so drawing how
    often each such triple occurs is drawing the rows.
    """
    labels, codes = np.unique(
        np.concatenate([column.astype(object) for column in (y_true, first, second)]),
        return_inverse=True,
    )
    triples, occurs = np.unique(
        codes.reshape(3, -1), axis=1, return_counts=True
    )  # (3, n_cells), (n_cells,)
    n_rows = len(y_true)
    drawn = rng.multinomial(n_rows, occurs / n_rows, size=n_resamples)
    drawn = np.vstack([occurs, drawn]).astype(float)  # (1 + n_resamples, n_cells)
    truth = triples[0]
    pairs: dict[str, list[np.ndarray]] = {}
    for predicted in triples[1:]:
        hit = truth == predicted
        is_true, is_predicted = np.eye(len(labels))[[truth, predicted]]
        pairs.setdefault("macro_f1", []).append(
            macro_f1_of_counts(
                drawn @ (is_true * is_predicted), drawn @ (is_true + is_predicted)
            )
        )
        pairs.setdefault("accuracy", []).append(drawn[:, hit].sum(axis=1) / n_rows)
    return pairs


def _resample_values(y_true, first, second, n_resamples, rng) -> dict:
    """Scores of both models for the rows and their resamples, from sums over rows."""
    y = y_true.astype(float)
    unit = power_of_two(y)
    y, first, second = (np.asarray(own, float) / unit for own in (y, first, second))
    n_rows = len(y)
    y_centred = y - y.mean()
    errors = [predicted - y for predicted in (first, second)]
    columns = np.column_stack(
        [y_centred, y_centred**2, *(e**2 for e in errors), *(np.abs(e) for e in errors)]
    )
    sums = [columns.sum(axis=0, keepdims=True)]
    block = max(1, _BLOCK // n_rows)
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        times = rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=size)
        sums.append(times @ columns)
    total, squares, *of_errors = np.vstack(sums).T
    variation = squares - total**2 / n_rows
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = [np.where(variation > 0, 1 - e / variation, np.nan) for e in of_errors[:2]]
    return {
        "r2": r2,
        "rmse": [unit * np.sqrt(e / n_rows) for e in of_errors[:2]],
        "mae": [unit * e / n_rows for e in of_errors[2:]],
    }
