import numpy as np
import pytest

from treelab.trees.pruning import approximations


def test_of_equal_columns_one_is_taken():
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 100))
    x = np.column_stack([one, one, other])
    (weights, lacking), _ = approximations(x, np.array([0.4, 0.6, 0.01]))
    assert (weights != 0).sum() == 1
    assert weights.sum() == pytest.approx(1.0, abs=0.05)
    assert lacking == pytest.approx(0.01 * other.mean(), abs=0.02)


def test_a_sum_of_few_columns_is_found_among_many():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 40))
    weights = 1e-3 * rng.normal(size=40)
    weights[[4, 17, 30]] = [1.0, -2.0, 0.5]
    sparse = {(found != 0).sum(): found for found, _ in approximations(x, weights)}
    assert np.flatnonzero(sparse[3]).tolist() == [4, 17, 30]
    np.testing.assert_allclose(sparse[3], weights, atol=0.02)


def test_columns_without_weight_are_never_taken():
    x = np.random.default_rng(0).normal(size=(50, 4))
    weights = np.array([1.0, 0.0, 1.0, 0.0])
    assert all((found[[1, 3]] == 0).all() for found, _ in approximations(x, weights))
