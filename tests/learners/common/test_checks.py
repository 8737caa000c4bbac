"""Settings refuse values out of range, with their name, the value and what works."""

import numpy as np
import pytest

from treelab import CartClassifier
from treelab.learners.common.settings import Setting

DEPTH = Setting("depth", "", "", "int", 3, minimum=1)
FEW = Setting("depth", "", "", "int", 3, minimum=1, maximum=8)
DROPOUT = Setting("dropout", "", "", "float", 0.5, minimum=0, maximum=1)
LEAVES = Setting("leaves", "", "", "choice", "linear", choices=("constant", "linear"))


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", None, True, float("nan")])
def test_what_is_no_integer_of_at_least_one_is_refused_with_name_and_value(value):
    with pytest.raises(ValueError, match=r"depth must be an integer >= 1, got"):
        DEPTH.check(value)


def test_integers_of_numpy_are_integers():
    DEPTH.check(np.int64(3))
    FEW.check(np.int32(8))


def test_the_range_is_named():
    with pytest.raises(ValueError, match="from 1 to 8, got 9"):
        FEW.check(9)


def test_words_that_stand_for_a_number_are_named():
    steps = Setting("steps", "", "", "int", "auto", minimum=1, choices=(None,))
    with pytest.raises(ValueError, match="integer >= 1 or 'auto' or None, got 'many'"):
        steps.check("many")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, -0.1, 1.1])
def test_numbers_out_of_bounds_are_refused(value):
    with pytest.raises(ValueError, match=r"dropout must be a finite number >= 0 and"):
        DROPOUT.check(value)


def test_choices_are_listed():
    LEAVES.check("linear")
    with pytest.raises(ValueError, match="'constant', 'linear', got 'cubic'"):
        LEAVES.check("cubic")


@pytest.mark.parametrize("classes", [["no", "yes"], [False, True], [0, 1]])
def test_labels_are_scored_as_they_were_fitted_and_no_others(classes):
    X = np.arange(40.0)[:, None]
    y = np.array(classes)[np.arange(40) // 20]
    model = CartClassifier(tune=False).fit(X, y)
    assert model.score(X, y.tolist()) == model.score(X, y.astype(object)) == 1
    other = [True, False] * 20 if classes[0] == "no" else ["True", "False"] * 20
    with pytest.raises(ValueError, match=r"y holds the label .*, and the classes"):
        model.score(X, other)
