"""The paired bootstrap: how sure one model is better than another on some rows."""

from dataclasses import dataclass

import numpy as np

from treelab.data.encoding import power_of_two
from treelab.evaluation.metrics import (
    LOWER_IS_BETTER,
    TITLES,
    by_row,
    check_labels_alike,
    differ,
    macro_f1_of_counts,
)
from treelab.trees.losses import Loss
from treelab.trees.words import counted, percent, signed, significant

LEVEL, N_RESAMPLES = 0.95, 2000
_BLOCK = 4_000_000  # numbers of a block of resampled counts


@dataclass(frozen=True)
class ScoreDifference:
    """The second model's score minus the first's, and its confidence interval."""

    metric: str  # key of the score, as in ``metrics.TITLES``
    # The two scores, each on all rows.
    first: float
    second: float
    # Ends of the confidence interval of ``second - first``.
    low: float
    high: float
    n_rows: int  # rows on which both were scored
    same: bool = False  # whether both predict the same on each of them
    level: float = LEVEL  # of the interval

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

    def finding(self, names: tuple[str, str]) -> str:
        """Say which of the two models is better, and by how much."""
        first, second = names
        if self.winner is None:
            if self.same:
                return f"{second} and {first} predict the same"
            return f"No clear difference between {second} and {first}"
        better, other = (second, first) if self.winner else (first, second)
        return f"{better} is better than {other} by {significant(abs(self.estimate))}"

    def interval_words(self, names: tuple[str, str], rows: str = "test row") -> str:
        """Write the interval of the difference, both scores, and the rows behind them.

        It is that of the better model's gain, where one is clearly better.
        """
        low, high, one, other = self.low, self.high, *names[::-1]
        scores = [(names[1], self.second), (names[0], self.first)]
        if self.winner == 0:
            low, high, one, other = -high, -low, other, one
            scores.reverse()
        both = ", ".join(f"{name} {significant(value)}" for name, value in scores)
        title = f"{self.title[:1].upper()}{self.title[1:]}"
        words = f"{title}: {both}, on the same {counted(self.n_rows, rows)}."
        if self.same:
            return words
        ends = f"{signed(low, 2)} to {signed(high, 2)}"
        return f"{one} − {other}: {ends} ({percent(self.level)} CI). {words}"


def level_of_each(n_pairs: int) -> float:
    """Return the level of each of several intervals that hold together at ``LEVEL``.

    By Bonferroni's inequality, whatever the pairs share.
    """
    return 1 - (1 - LEVEL) / n_pairs


def paired_bootstrap(
    task: str,
    y_true,
    first,
    second,
    weight=None,
    *,
    loss: Loss | None = None,
    n_pairs: int = 1,
) -> dict[str, ScoreDifference]:
    """Compare two models' predictions by a paired bootstrap over the rows.

    Both models are scored on the same resampled rows, so what is hard about a row
    counts for both; it has its weight in each resample. The interval is the expanded
    percentile interval, see ``_interval``; it speaks of new rows, not of training the
    models again. Where ``n_pairs`` of models are compared at once, it is one of as many
    that hold together.

    Truth and predictions (n_rows,) are labels, or values in the target's unit. The
    scores are ``macro_f1`` and ``accuracy``, or ``r2``, ``rmse`` and ``mae``, with
    another loss than the squared error its ``d2`` before them. ValueError if the
    lengths differ, a value is missing, labels are text here and numbers there, or there
    are fewer than two rows.
    """
    n_rows = len(y_true)
    y_true = by_row(y_true, n_rows, "The truth")
    first, second = (
        by_row(each, n_rows, "Both models' predictions") for each in (first, second)
    )
    if n_rows < 2:
        raise ValueError(f"A comparison needs at least 2 rows, got {n_rows}.")
    if task != "regression":
        check_labels_alike(y_true, first, second)
    if weight is not None:
        weight = by_row(weight, n_rows, "Weights")
    pairs = _resampled(task, loss, y_true, first, second, weight)
    differences, same = {}, not differ(task, first, second).any()
    level = level_of_each(n_pairs)
    for metric, (one, two) in pairs.items():
        two = one if same else two
        # The first entry is the score on the rows as they are.
        on_rows = float(one[0]), float(two[0])
        ends = _interval((two - one)[1:], n_rows, level)
        found = ScoreDifference(metric, *on_rows, *ends, n_rows, same, level)
        differences[metric] = found
    return differences


def score_intervals(
    task: str, y_true, predicted, weight=None, *, loss: Loss | None = None
) -> dict[str, tuple[float, float]]:
    """Return 95% confidence intervals of one model's scores.

    Of at least two rows, (n_rows,); resamples and names of scores are those of
    ``paired_bootstrap``. That of the accuracy, a fraction, is Wilson's.
    """
    y_true, predicted = np.asarray(y_true), np.asarray(predicted)
    pairs = _resampled(task, loss, y_true, predicted, predicted, weight)
    found = {m: _interval(one[1:], len(y_true)) for m, (one, _) in pairs.items()}
    if "accuracy" in found:
        each = np.ones(len(y_true)) if weight is None else np.asarray(weight, float)
        as_unsteady = each.sum() ** 2 / (each @ each)  # as many rows weighted alike
        found["accuracy"] = _wilson(float(pairs["accuracy"][0][0]), as_unsteady)
    return found


def _wilson(fraction: float, n_rows: float) -> tuple[float, float]:
    """Return the ends of Wilson's interval of a fraction of rows (JASA 22, 1927).

    That of resamples has no width where all rows are right.
    """
    from scipy.special import ndtri

    z2 = ndtri((1 + LEVEL) / 2) ** 2 / n_rows
    center = (fraction + z2 / 2) / (1 + z2)
    reach = np.sqrt(z2 * (fraction * (1 - fraction) + z2 / 4)) / (1 + z2)
    return max(float(center - reach), 0.0), min(float(center + reach), 1.0)


def _interval(
    resampled: np.ndarray, n_rows: int, level: float = LEVEL
) -> tuple[float, float]:
    """Return the ends of the interval of a number from its resamples.

    Percentiles of resamples are too narrow for few rows, as a normal interval without
    Student's t is. They lie further out by as much: the expanded percentile interval
    (Hesterberg, "What teachers should know about the bootstrap", The American
    Statistician 69, 2015).
    """
    from scipy.special import ndtr, stdtrit  # takes a while, and most pages need none

    t = stdtrit(n_rows - 1, (1 + level) / 2) * np.sqrt(n_rows / (n_rows - 1))
    low, high = np.nanquantile(resampled, [ndtr(-t), ndtr(t)])
    return float(low), float(high)


def resampled_sums(
    occurs: np.ndarray, columns: np.ndarray, n_resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw rows anew and add up, in each resample, what stands beside them.

    (1 + n_resamples, n_columns): first the sums over the rows as they are. Rows that
    are alike may be given once, with how often each kind ``occurs`` (n_kinds,): drawing
    that is drawing the rows. A resample has as many rows in all; ``columns`` are
    (n_kinds, n_columns).
    """
    n_rows = int(occurs.sum())
    sums = [occurs[None] @ columns]
    block = max(1, _BLOCK // len(occurs))
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        sums.append(rng.multinomial(n_rows, occurs / n_rows, size=size) @ columns)
    return np.vstack(sums)


def _resampled(
    task, loss, y_true, first, second, weight
) -> dict[str, list[np.ndarray]]:
    """Scores of both models, by name, for the rows and then their resamples."""
    weight = np.ones(len(y_true)) if weight is None else np.asarray(weight, float)
    rows = y_true, first, second, weight, np.random.default_rng(0)
    if task == "regression":
        return _resample_values(loss, *rows)
    return _resample_labels(*rows)


def _resample_labels(y_true, first, second, weight, rng) -> dict:
    """Scores of both models for the rows and their resamples, from counted cells.

    A score depends on a row only through (truth, first, second) and its weight.
    """
    labels, codes = np.unique(
        np.concatenate([column.astype(object) for column in (y_true, first, second)]),
        return_inverse=True,
    )
    weights, place = np.unique(weight, return_inverse=True)
    cells, at, occurs = np.unique(
        np.vstack([codes.reshape(3, -1), place]),
        axis=1,
        return_index=True,
        return_counts=True,
    )  # (4, n_cells), (n_cells,), (n_cells,)
    order = at.argsort()  # as rows come: the same draws, whichever model is the first
    (truth, *predictions, place), occurs = cells[:, order], occurs[order]
    weight = weights[place]
    one_hot, n_labels = np.eye(len(labels)), len(labels)
    is_true = one_hot[truth]
    columns = [weight[:, None]]
    for predicted in predictions:
        is_predicted = one_hot[predicted]
        columns.append(weight[:, None] * is_true * is_predicted)
        columns.append(weight[:, None] * (is_true + is_predicted))
    sums = resampled_sums(occurs, np.hstack(columns), N_RESAMPLES, rng)
    total, of_models = sums[:, 0], sums[:, 1:].reshape(len(sums), 2, 2, n_labels)
    hits, occurrences = of_models[:, :, 0], of_models[:, :, 1]
    return {
        "macro_f1": [macro_f1_of_counts(hits[:, k], occurrences[:, k]) for k in (0, 1)],
        "accuracy": [hits[:, k].sum(axis=1) / total for k in (0, 1)],
    }


def _resample_values(loss, y_true, first, second, weight, rng) -> dict:
    """Scores of both models for the rows and their resamples, from sums over rows.

    D² is against the best constant of the rows as they are: that of a resample costs
    it hardly less.
    """
    y = y_true.astype(float)
    costs = [] if loss is None else _costs(loss, y, [first, second], weight)
    unit = power_of_two(y)
    y, first, second = (np.asarray(own, float) / unit for own in (y, first, second))
    y_centred = y - np.median(y)  # most resamples lie around it, outliers or not
    errors = [predicted - y for predicted in (first, second)]
    losses = [*(e**2 for e in errors), *map(np.abs, errors), *costs]
    columns = np.column_stack([np.ones(len(y)), y_centred, y_centred**2, *losses])
    each = np.ones(len(y), dtype=np.int64)
    sums = resampled_sums(each, weight[:, None] * columns, N_RESAMPLES, rng)
    mass, total, squares, *of_errors = sums.T
    variation = squares - total**2 / mass
    variation[variation <= 1e-12 * squares] = 0  # of equal values, but for rounding
    explained = {} if loss is None else {"d2": _explained(*of_errors[4:])}
    return {
        **explained,
        "r2": _explained(variation, *of_errors[:2]),
        "rmse": [unit * np.sqrt(e / mass) for e in of_errors[:2]],
        "mae": [unit * e / mass for e in of_errors[2:4]],
    }


def _costs(loss: Loss, y, predictions, weight) -> list[np.ndarray]:
    """Loss of each row (n,), first of the best constant, then of each prediction."""
    constant = loss.constants(np.zeros(len(y), dtype=np.int64), y, weight, 1)
    of_constant, *own = (loss.rows(p, y) for p in (constant + 0 * y, *predictions))
    return [of_constant * (np.ptp(y) > 0), *own]  # equal values cost it rounding alone


def _explained(of_constant, *of_models) -> list[np.ndarray]:
    """Fraction of a constant's loss that models save; NaN where it has none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        saved = [1 - loss / of_constant for loss in of_models]
    return [np.where(of_constant > 0, each, np.nan) for each in saved]
