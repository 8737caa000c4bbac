"""Whether two learners differ by more than chance over several data splits."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

FEWEST = 2  # data splits for a test


@dataclass(frozen=True)
class SeedComparison:
    """The second learner's score minus the first's, over data splits.

    Attributes
    ----------
    difference : float64 array of shape (n_splits,)
    mean : float
    low, high : float
        Ends of the confidence interval of the mean, by the corrected variance.
    level : float
        Its confidence level.
    t_p, wilcoxon_p : float
        Two-sided p values of the corrected resampled t-test, and of Wilcoxon's
        signed-rank test.
    """

    difference: np.ndarray
    mean: float
    low: float
    high: float
    level: float
    t_p: float
    wilcoxon_p: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0

    @property
    def least_wilcoxon_p(self) -> float:
        """The smallest p value that so many data splits can give."""
        return 2 / 2 ** len(self.difference)


def compare_over_seeds(
    first, second, n_train: int, n_test: int, *, level: float = 0.95
) -> SeedComparison:
    """Test whether two learners' scores differ over data splits of one table.

    The splits share rows, so their scores vary less than those of new tables: the
    variance of the mean is ``(1 / n_splits + n_test / n_train) * s**2`` (Nadeau and
    Bengio, "Inference for the generalization error", Machine Learning 52, 2003). Folds,
    repeated or not, share training rows and are tested alike (Bouckaert and Frank,
    "Evaluating the replicability of significance tests", PAKDD 2004).

    Parameters
    ----------
    first, second : array-like of shape (n_splits,)
        Scores on the test rows of each data split, at least two.
    n_train, n_test : int
        Rows that a model was fitted to, and rows that it was tested on.
    level : float, default=0.95
        Confidence level of the interval.

    Raises
    ------
    ValueError
        If there are fewer than two data splits, or numbers of scores differ.
    """
    first, second = np.asarray(first, float), np.asarray(second, float)
    if first.shape != second.shape or len(first) < FEWEST:
        raise ValueError(
            f"Give both scores of {FEWEST} data splits or more, got {len(first)} and "
            f"{len(second)}."
        )
    difference = second - first
    n = len(difference)
    mean = float(difference.mean())
    error = float(np.sqrt((1 / n + n_test / n_train) * difference.var(ddof=1)))
    reach = float(stats.t.ppf((1 + level) / 2, n - 1)) * error
    if error > 0:
        t_p = 2 * float(stats.t.sf(abs(mean) / error, n - 1))
    else:
        t_p = float(mean == 0)
    wilcoxon_p = float(stats.wilcoxon(difference).pvalue) if difference.any() else 1.0
    return SeedComparison(
        difference, mean, mean - reach, mean + reach, level, t_p, wilcoxon_p
    )
