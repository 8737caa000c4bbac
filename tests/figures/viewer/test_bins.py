"""Histograms whose bars lie wholly on one side of a threshold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treelab.figures.viewer.payload import category_bars, number_bins, rounded_edges

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(st.lists(numbers, min_size=1, max_size=80), numbers, st.integers(2, 24))
def test_bars_left_of_the_threshold_hold_the_rows_that_go_left(values, cut, most):
    x = np.array(values)
    code = np.arange(len(x)) % 3
    edges, counts = _unrounded(x, code, cut, most)
    place = np.flatnonzero(edges == cut)
    assert len(place) == 1
    for k in range(3):
        left = int(((x <= cut) & (code == k)).sum())
        assert counts[: place[0], k].sum() == left
        assert counts[:, k].sum() == (code == k).sum()


def _unrounded(x, code, cut, most):
    """The bins with edges as they are before they are written."""
    from treelab.figures.viewer import payload as viewer_bins

    kept = []
    written = viewer_bins.rounded_edges
    viewer_bins.rounded_edges = lambda edges: kept.append(edges) or edges.tolist()
    try:
        hist = number_bins(x, code, 3, cut, most)
    finally:
        viewer_bins.rounded_edges = written
    assert np.all(np.diff(kept[0]) > 0)
    assert len(hist["counts"]) <= most + 2
    return kept[0], np.array(hist["counts"])


def test_few_values_have_a_bar_each():
    x = np.repeat([1.0, 2.0, 4.0], [3, 5, 7])
    hist = number_bins(x, np.zeros(15, int), 1, 2.5)
    assert hist["counts"] == [[3], [5], [7]]
    assert hist["edges"] == [0.5, 1.5, 2.5, 5.0]


def test_a_long_tail_is_gathered_in_the_last_bar():
    x = np.concatenate([np.linspace(0, 1, 1000), [1e6]])
    hist = number_bins(x, np.zeros(1001, int), 1, 0.5)
    assert hist["edges"][-1] < 2
    assert hist["open"] == [True, True]
    assert sum(n for (n,) in hist["counts"]) == 1001


@pytest.mark.parametrize("threshold", [np.inf, -np.inf, None])
def test_a_threshold_that_lies_nowhere_is_no_edge(threshold):
    hist = number_bins(np.arange(100.0), np.zeros(100, int), 1, threshold)
    assert np.isfinite(hist["edges"]).all()


def test_edges_far_from_zero_stay_apart():
    edges = 1.6e9 + np.linspace(0, 1e-3, 20)
    assert len(set(rounded_edges(edges))) == 20


def test_rare_categories_are_counted_together_by_side():
    names = [f"c{i}" for i in range(30)]
    category = np.repeat(np.arange(30), np.arange(30, 0, -1))
    left = np.arange(30) % 2 == 0
    bars = category_bars(names, left, category, np.zeros(len(category), int), 1)
    assert len(bars["categories"]) == 12
    assert bars["left"] == [True] * 6 + [False] * 6
    assert bars["categories"][5] == bars["categories"][-1] == "10 more"
    total = sum(n for (n,), side in zip(bars["counts"], bars["left"]) if side)
    assert total == left[category].sum()
