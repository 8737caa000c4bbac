"""Colours can be read, and learners keep theirs."""

import pandas as pd
import pytest

from treelab.figures.style import (
    LEARNER_COLORS,
    class_colors,
    contrast,
    label_colors,
    learner_color,
    palette,
    text_on,
    with_alpha,
)
from treelab.learners.registry import CLUSTERS, IMPORTED, LEARNERS


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("word", ["text", "muted", "accent", "good", "bad", "warn"])
@pytest.mark.parametrize("background", ["background", "panel"])
def test_words_stand_out_from_what_they_lie_on(mode, word, background):
    colors = palette(mode)
    assert contrast(getattr(colors, word), getattr(colors, background)) >= 4.5


def test_contrast_spans_from_one_to_twenty_one():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#1B7F5C", "#1B7F5C") == pytest.approx(1)


@pytest.mark.parametrize("color", [*LEARNER_COLORS.values(), *class_colors(12)])
def test_text_on_a_color_can_be_read(color):
    assert contrast(text_on(color), color) >= 4.5


def test_no_class_has_a_learners_color():
    assert not {*LEARNER_COLORS.values(), learner_color("")} & {*class_colors(12)}
    assert {*LEARNERS, CLUSTERS.key, IMPORTED} <= {*LEARNER_COLORS}


def test_get_with_linear_leaves_has_its_own_color():
    assert learner_color("get") != learner_color("get", {"leaves": "linear"})
    assert learner_color("get", {"leaves": "constant"}) == learner_color("get")


@pytest.mark.parametrize("n_classes", [0, 1, 2, 12, 40])
def test_there_is_a_color_for_every_class(n_classes):
    colors = class_colors(n_classes)
    assert len(colors) == n_classes
    assert len(set(colors)) == min(n_classes, 12)


def test_the_most_frequent_class_has_the_first_colour():
    labels = pd.Series(["b", "c", "b", "a", "c"])
    assert label_colors(labels) == dict(zip(["b", "c", "a"], class_colors(3)))
    found = label_colors(labels, ["d", "c", "b", "a"])
    assert found == dict(zip(["c", "b", "a", "d"], class_colors(4)))
    assert list(label_colors(pd.Series([True, False, False]))) == [False, True]


def test_alpha_keeps_the_hue():
    assert with_alpha("#1B7F5C", 0.5) == "rgba(27,127,92,0.5)"
