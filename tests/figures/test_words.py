"""Words of the pictures."""

import numpy as np
import pytest

from treelab.figures.words import count, escape_html, number, shorten


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.95321, "0.953"),
        (0.9996, "1.00"),
        (-0.00412, "−0.00412"),
        (1520.4, "1,520"),
        (52000, "52,000"),
        (12.345, "12.3"),
        (2.123e-7, "2.12e-07"),
        (0, "0"),
        (np.nan, "no value"),
        (-np.inf, "−∞"),
    ],
)
def test_numbers_have_three_digits_and_a_true_minus(value, written):
    assert number(value) == written


def test_text_of_a_table_is_no_markup():
    assert escape_html("<b>$x$ & y") == "&lt;b&gt;&#36;x&#36; &amp; y"


def test_long_words_end_in_an_ellipsis():
    assert shorten("mean concave points", 12) == "mean concav…"
    assert shorten("age", 12) == "age"


def test_one_thing_has_no_plural():
    assert (count(1, "leaf", "leaves"), count(1024, "tree")) == (
        "1 leaf",
        "1,024 trees",
    )
