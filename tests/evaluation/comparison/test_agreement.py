"""How alike models predict."""

import numpy as np
import pytest

from treelab.evaluation.comparison import agreement, most_and_least_alike


def test_classes_agree_by_the_fraction_of_equal_rows():
    models = [np.array(list(labels)) for labels in ("aabb", "aabc", "ccca")]
    found = agreement("multiclass", models)
    assert found.tolist() == [[1, 0.75, 0], [0.75, 1, 0], [0, 0, 1]]


def test_numbers_agree_by_their_correlation():
    rng = np.random.default_rng(0)
    models = rng.normal(size=(3, 50))
    assert agreement("regression", models) == pytest.approx(np.corrcoef(models))


def test_a_constant_has_no_correlation():
    # the mean of six times 0.1 is rounded
    models = [np.arange(6.0), np.full(6, 0.1), np.arange(6.0)[::-1]]
    found = agreement("regression", models)
    assert np.isnan(found[0, 1])
    assert found[0, 2] == pytest.approx(-1)
    assert most_and_least_alike(found) == ((0, 2), (0, 2))


def test_the_most_and_the_least_alike_are_named():
    found = np.array([[1, 0.9, 0.5], [0.9, 1, 0.7], [0.5, 0.7, 1]])
    assert most_and_least_alike(found) == ((0, 1), (0, 2))


def test_models_that_do_not_compare_are_refused():
    with pytest.raises(ValueError, match="two models"):
        most_and_least_alike(np.full((2, 2), np.nan))
