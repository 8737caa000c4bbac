import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

from tests.slow_params import slow_after
from treelab.data.encoding import SCALES, power_of_two, spread

COLUMNS = st.integers(1, 60).flatmap(
    lambda n: arrays(
        np.float64,
        n,
        elements=st.one_of(
            st.integers(-3, 3).map(float),
            st.floats(-1e9, 1e9),
            st.floats(-1e-9, 1e-9),
            st.floats(-1e140, 1e140),
        ),
    )
)


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_after(2, SCALES))
@given(x=COLUMNS, probe=COLUMNS)
def test_every_scale_is_finite_and_never_decreases(name, x, probe):
    scale = SCALES[name](x)
    points = np.sort(np.concatenate([x, probe]))
    mapped = scale(points)
    assert np.isfinite(mapped).all()
    assert (np.diff(mapped) >= 0).all()


@pytest.mark.parametrize("name", ["quantile", "zscore", "minmax"])
def test_a_constant_column_becomes_zero_also_for_values_never_seen(name):
    scale = SCALES[name](np.full(5, 7.5))
    assert (scale(np.array([7.5, 0.0, 1e6])) == 0).all()


@pytest.mark.parametrize("n", [2, 3, 20, 500])
def test_normal_scores_are_scikit_learns_where_no_values_are_equal(n):
    x = np.random.default_rng(n).normal(size=n)
    theirs = QuantileTransformer(output_distribution="normal", n_quantiles=n)
    expected = theirs.fit_transform(x[:, None])[:, 0]
    assert np.allclose(SCALES["quantile"](x)(x), expected, atol=1e-6)


@given(x=st.lists(st.integers(-4, 4), min_size=2, max_size=30))
def test_equal_values_share_the_score_of_their_middle_rank(x):
    mapped = SCALES["quantile"](np.array(x, dtype=float))(np.array(x, dtype=float))
    for value, score in zip(x, mapped):
        ranks = [r for r, other in enumerate(sorted(x)) if other == value]
        share = np.mean(ranks) / (len(x) - 1)
        if min(x) < value < max(x):
            assert score == pytest.approx(norm.ppf(share))
        elif min(x) < max(x):
            assert abs(score) == pytest.approx(norm.isf(1e-7))


@given(x=arrays(np.float64, 30, elements=st.floats(-100, 100)))
def test_affine_scales_are_scikit_learns(x):
    if np.ptp(x) < 1e-3:
        return
    for name, theirs in (("zscore", StandardScaler()), ("minmax", MinMaxScaler())):
        expected = theirs.fit_transform(x[:, None])[:, 0]
        assert np.allclose(SCALES[name](x)(x), expected, atol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e12])
@pytest.mark.parametrize("unit", [1e-200, 1e-12, 1e-3, 1, 1e12, 1e100])
@pytest.mark.parametrize("name", ["quantile", "rank", "zscore", "minmax"])
def test_the_unit_of_a_column_does_not_matter(name, unit, offset):
    x = np.random.default_rng(0).lognormal(0, 3, 200).round(1)
    moved = (x + offset) * unit
    assert np.allclose(SCALES[name](moved)(moved), SCALES[name](x)(x), atol=1e-4)


@given(x=COLUMNS)
def test_ranks_are_places_among_the_distinct_values_and_between_them_lie_between(x):
    scale, values = SCALES["rank"](np.append(x, np.nan)), np.unique(x)
    assert scale(values).tolist() == [*range(len(values))]
    middle = values[:-1] / 2 + values[1:] / 2
    assert (scale(middle) >= np.arange(len(middle))).all()
    assert (scale(middle) <= np.arange(len(middle)) + 1).all()
    assert np.isnan(scale(np.array([np.nan]))).all()


@pytest.mark.slow
@given(x=COLUMNS, k=st.integers(-200, 100))
def test_the_spread_is_known_in_any_unit_and_a_power_of_two_is_above_it(x, k):
    moved = np.clip(x, -100, 100).round(2) * 10.0**k
    unit = power_of_two(moved)
    assert np.ptp(moved) == 0 or unit / 2 <= np.ptp(moved) <= unit
    assert (moved / unit * unit == moved).all()
    expected = np.std(moved / unit) * unit if np.ptp(moved) else 0.0
    assert spread(np.append(moved, np.nan)) == pytest.approx(expected, rel=1e-9, abs=0)


def test_large_numbers_are_scaled_without_overflow():
    x = np.array([-1e150, 0.0, 1e150])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.allclose(SCALES["zscore"](x)(x), [-(1.5**0.5), 0, 1.5**0.5])
        assert np.allclose(SCALES["minmax"](x)(x), [0, 0.5, 1])
