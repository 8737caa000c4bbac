"""Tests over several data splits, against their formulas and scipy's."""

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from treelab.evaluation.comparison import compare_over_seeds

FIRST = [0.70, 0.72, 0.69, 0.75, 0.71, 0.73]
SECOND = [0.76, 0.74, 0.75, 0.78, 0.72, 0.79]


def test_the_variance_is_nadeau_and_bengios():
    found = compare_over_seeds(FIRST, SECOND, 1200, 300)
    difference = np.subtract(SECOND, FIRST)
    t = difference.mean() / sqrt((1 / 6 + 300 / 1200) * difference.var(ddof=1))
    assert found.t_p == pytest.approx(2 * stats.t.sf(abs(t), 5))
    assert found.mean == pytest.approx(difference.mean())
    reach = stats.t.ppf(0.975, 5) * difference.mean() / t
    assert (found.low, found.high) == pytest.approx(
        (found.mean - reach, found.mean + reach)
    )
    assert found.wilcoxon_p == pytest.approx(stats.wilcoxon(difference).pvalue)


def test_without_shared_rows_it_is_the_paired_t_test():
    found = compare_over_seeds(FIRST, SECOND, 10**12, 1)
    assert found.t_p == pytest.approx(stats.ttest_rel(SECOND, FIRST).pvalue, rel=1e-4)


def test_shared_rows_make_the_interval_wider():
    narrow = compare_over_seeds(FIRST, SECOND, 10**12, 1)
    wide = compare_over_seeds(FIRST, SECOND, 600, 300)
    assert wide.high - wide.low > narrow.high - narrow.low
    assert narrow.clear


def test_equal_scores_differ_by_chance():
    found = compare_over_seeds(FIRST, np.multiply(FIRST, 1 + 1e-15), 1200, 300)
    assert (found.t_p, found.wilcoxon_p, found.clear) == (1, 1, False)
    words = found.sentences(("A", "B"), "R²", "6 data splits")
    assert words == "Both score the same on all 6 data splits."


@pytest.mark.parametrize(("n", "clear"), [(2, False), (5, False), (6, True)])
def test_splits_that_differ_alike_are_as_sure_as_they_are_many(n, clear):
    found = compare_over_seeds(FIRST[:n], np.add(FIRST[:n], 0.01), 1200, 300)
    assert found.clear is clear
    assert found.t_p == found.wilcoxon_p == found.least_wilcoxon_p


def test_few_data_splits_bound_wilcoxons_p():
    found = compare_over_seeds(FIRST[:3], SECOND[:3], 1200, 300)
    assert found.wilcoxon_p == found.least_wilcoxon_p == 0.25
    found = compare_over_seeds(FIRST, [*SECOND[:5], FIRST[5]], 1200, 300)
    assert found.least_wilcoxon_p == 2 / 2**5  # a tie tells nothing
    words = found.sentences(("A", "B"), "R²", "6 data splits")
    assert "cannot bring below 0.062" in words


def test_scores_that_tie_on_some_splits_are_tested():
    second = [*SECOND[:4], *FIRST[4:]]
    assert 0 < compare_over_seeds(FIRST, second, 1200, 300).wilcoxon_p <= 1


def test_one_data_split_is_no_sample():
    with pytest.raises(ValueError, match="2 data splits or more"):
        compare_over_seeds([0.5], [0.6], 100, 20)
