"""A float64 row takes the decision path of its float32 twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treelab.trees.adapters.forest import float32_range, float32_thresholds

LARGEST = float(np.finfo(np.float32).max)


def around(value: float) -> np.ndarray:
    """Float64 values where rounding to float32 turns over, near a value."""
    middle = np.float32(np.clip(value, -LARGEST, LARGEST))
    near = [middle]
    for end in (-np.inf, np.inf):
        near.append(np.nextafter(middle, np.float32(end)))
        near.append(np.nextafter(near[-1], np.float32(end)))
    near = np.sort(np.array(near, dtype=np.float64))
    near = near[np.isfinite(near)]
    points = np.concatenate([near, (near[1:] + near[:-1]) / 2, [value]])
    beside = [np.nextafter(points, end) for end in (-np.inf, np.inf)]
    return np.concatenate([points, *beside])


@pytest.mark.parametrize("strict", [False, True])
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_value_near_a_threshold_keeps_its_side(strict, threshold):
    with np.errstate(over="ignore"):
        x = around(threshold)
        single = x.astype(np.float32).astype(np.float64)
    wanted = single < threshold if strict else single <= threshold
    (found,) = float32_thresholds([threshold], strict=strict)
    assert np.array_equal(x <= found, wanted)


def test_an_infinite_threshold_stays():
    for threshold in (-np.inf, np.inf):
        assert float32_thresholds([threshold], strict=False) == [threshold]


@pytest.mark.parametrize("value", [-999, 0, 1, 99999.9, -0.1, 1e30])
def test_a_range_holds_all_that_rounds_to_one_float32_and_no_more(value):
    low, high = float32_range(value)
    inside = np.array([low, value, np.float32(value), high], dtype=np.float64)
    outside = np.array([np.nextafter(low, -np.inf), np.nextafter(high, np.inf)])
    assert (inside.astype(np.float32) == np.float32(value)).all()
    assert (outside.astype(np.float32) != np.float32(value)).all()
