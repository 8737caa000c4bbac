from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treelab.trees.words import (
    apart,
    counted,
    parse,
    percent,
    probability,
    shortest,
    significant,
    threshold_text,
    value_text,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.8, "0.8"),
        (2.4499999999999997, "2.45"),
        (0.800000011920929, "0.8"),
        (1337.5, "1337.5"),
        (15.045, "15.045"),
        (0.0616961234567, "0.0617"),
        (1234.56789, "1235"),
        (-12.5, "−12.5"),
        (100, "100"),
        (0.0, "0"),
        (-0.0, "0"),
        (2.125e-6, "2.125e−6"),
        (3e9, "3e9"),
        (123456.0, "123,456"),
        (-12345.5, "−12,345.5"),
        (2019.5, "2019.5"),
        (inf, "∞"),
        (-inf, "−∞"),
        (nan, "unknown"),
    ],
)
def test_numbers_read_as_a_person_writes_them(value, text):
    assert shortest(value) == text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.95321, "0.953"),
        (0.9996, "1.00"),
        (-0.00412, "−0.00412"),
        (1520.4, "1,520"),
        (52000, "52,000"),
        (12.345, "12.3"),
        (2.123e-7, "2.12e−7"),
        (0, "0"),
        (nan, "no value"),
        (-inf, "−∞"),
    ],
)
def test_scores_have_three_digits_and_a_true_minus(value, written):
    assert significant(value) == written


@given(value=FLOATS)
def test_a_number_that_must_fit_exactly_is_exact(value):
    assert parse(shortest(value, lambda shown: shown == value)) == value


@given(value=FLOATS)
def test_a_number_is_never_further_off_than_a_thousandth(value):
    assert parse(shortest(value)) == pytest.approx(value, rel=1e-3)


@given(st.lists(FLOATS, min_size=3, max_size=3))
def test_a_shown_threshold_keeps_its_neighbours_on_their_sides(three):
    low, threshold, high = sorted(three)
    shown = parse(threshold_text(threshold, low, high))
    if threshold < high:
        assert low <= shown < high
    assert shown == pytest.approx(threshold, rel=0.011, abs=1e-299)


@pytest.mark.parametrize(
    ("threshold", "low", "high", "text"),
    [
        (15.0451234, 14.0, 16.0, "15"),
        (15.0451234, 15.0, 15.1, "15"),
        (15.0451234, 15.01, 15.1, "15.05"),
        (15.0451234, 15.04, 15.046, "15.045"),
        (1337.5, 1337, 1338, "1337.5"),
        (0.123456, -inf, inf, "0.123"),
        (0.123456, nan, nan, "0.123456"),
        (0.5, 0.7, 0.9, "0.5"),
    ],
)
def test_a_threshold_has_as_few_digits_as_its_neighbours_allow(
    threshold, low, high, text
):
    assert threshold_text(threshold, low, high) == text


@given(threshold=FLOATS, near=st.floats(min_value=1e-9, max_value=1e9))
def test_of_unknown_rows_a_threshold_is_never_shown_above_itself(threshold, near):
    shown = parse(threshold_text(threshold, nan, nan, near))
    assert shown <= threshold
    assert threshold - shown <= max(near, 1e-15 * abs(threshold))
    assert shown == pytest.approx(threshold, rel=1e-3, abs=1e-300)


@pytest.mark.parametrize(
    ("threshold", "text"),
    [
        (2.9999998807907104, "2.999"),
        (0.7999999523162842, "0.7999"),
        (-2.9999998, "−3"),
        (1234567.75, "1,234,567"),
        (20190512.75, "2.019e7"),
        (2.4500000476837, "2.45"),
    ],
)
def test_whole_numbers_keep_their_side_of_a_threshold_of_unknown_rows(threshold, text):
    assert threshold_text(threshold, nan, nan) == text


@given(st.lists(FLOATS, min_size=2, unique=True))
def test_numbers_apart_never_read_alike(values):
    assert len({*apart(values)}) == len(values)
    assert apart([12.5, 1234.25]) == ["12.5", "1234.25"]


@given(FLOATS, FLOATS)
def test_a_shown_value_lies_on_its_side_of_the_shown_threshold(value, threshold):
    shown = parse(shortest(threshold))
    if (value <= shown) == (value <= threshold):
        text = value_text(value, threshold, shown)
        assert (parse(text) <= shown) == (value <= threshold)


def test_a_value_between_a_threshold_and_its_text_is_about_that_text():
    assert value_text(2.9995, 2.9999999, 2.999) == "about 2.999"
    assert value_text(2.719, 2.71828, 2.72) == "about 2.72"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.314159, "31.4%"),
        (0.3, "30%"),
        (1e-6, "<0.1%"),
        (0.99999, ">99.9%"),
        (nan, "unknown"),
        (-0.106, "−10.6%"),
    ],
)
def test_a_share_never_claims_all_or_nothing_wrongly(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1.00"), (0, "0.00"), (0.5, "0.50"), (0.907, "0.907"), (0.99999, ">0.999")],
)
def test_probabilities_have_two_or_three_digits(value, text):
    assert probability(value) == text


def test_counts_agree_with_their_noun():
    assert [counted(n, "row") for n in (0, 1, 32561)] == [
        "0 rows",
        "1 row",
        "32,561 rows",
    ]
    assert counted(np.int64(2), "row") == "2 rows"
    assert counted(2, "leaf", "leaves") == "2 leaves"
