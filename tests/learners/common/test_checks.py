import numpy as np
import pytest

from treelab.learners.common.settings import (
    check_at_least,
    check_between,
    check_choice,
    check_number,
)


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", None, True, float("nan")])
def test_what_is_no_integer_of_at_least_one_is_refused_with_name_and_value(value):
    with pytest.raises(ValueError, match=r"depth must be an integer >= 1, got"):
        check_at_least("depth", value, 1)


def test_integers_of_numpy_are_integers():
    check_at_least("depth", np.int64(3), 1)
    check_between("depth", np.int32(8), 1, 8)


def test_the_range_is_named():
    with pytest.raises(ValueError, match="from 1 to 8, got 9"):
        check_between("depth", 9, 1, 8)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, -0.1, 1.1])
def test_numbers_out_of_bounds_are_refused(value):
    with pytest.raises(ValueError, match=r"dropout must be a finite number >= 0 and"):
        check_number("dropout", value, minimum=0, maximum=1)


def test_choices_are_listed():
    check_choice("leaves", "linear", ("constant", "linear"))
    with pytest.raises(ValueError, match="'constant', 'linear', got 'cubic'"):
        check_choice("leaves", "cubic", ("constant", "linear"))
