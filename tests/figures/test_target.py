"""The target's distribution counts every known row once."""

import numpy as np
import pandas as pd
import pytest

from treelab.figures.table import spark_counts
from treelab.figures.target import target_figure


@pytest.mark.parametrize("n_classes", [2, 3, 12, 13, 40])
def test_bars_count_every_row_once(n_classes):
    labels = pd.Series([f"c{i}" for i in range(n_classes) for _ in range(i + 1)])
    (bars,) = target_figure(labels, "multiclass").data
    assert sum(bars.x) == len(labels)
    assert len(bars.x) == min(n_classes, 12)


def test_the_most_frequent_class_comes_first():
    (bars,) = target_figure(pd.Series(["b", "a", "a", None]), "binary").data
    assert bars.customdata == ("a", "b")
    assert bars.text == ("2 · 66.7%", "1 · 33.3%")


@pytest.mark.parametrize("n_rows", [1, 10, 5000])
def test_a_histogram_counts_every_finite_row_once(n_rows):
    rng = np.random.default_rng(0)
    values = pd.Series([*rng.normal(size=n_rows), np.nan, np.inf], name="age")
    figure = target_figure(values, "regression", unit="years")
    assert sum(figure.data[0].y) == n_rows
    assert len(figure.data[0].y) <= 32
    assert figure.layout.xaxis.title.text == "age (years)"


def test_classes_whose_names_are_cut_alike_have_a_bar_each():
    labels = pd.Series([f"{'a' * 30} {i}" for i in (0, 0, 1)])
    figure = target_figure(labels, "binary")
    assert figure.data[0].y == figure.layout.yaxis.tickvals == (0, 1)


def test_labels_are_escaped():
    (bars,) = target_figure(pd.Series(["<i>x</i>", "y"]), "binary").data
    assert "<i>" not in "".join(bars.customdata)


def test_classes_take_the_colours_they_are_given():
    labels = pd.Series([1, 1, 0])
    (bars,) = target_figure(labels, "binary", colors={0: "#111111"}).data
    assert bars.customdata == ("1", "0")
    assert bars.marker.color[1] == "#111111"


@pytest.mark.parametrize("step", [0, 2])
def test_numbers_between_which_no_other_one_lies_are_counted(step):
    values = pd.Series([1e16, 1e16 + step] * 30, name="identifier")
    assert sum(target_figure(values, "regression").data[0].y) == 60
    assert spark_counts(values, is_number=True).sum() == 60


def test_a_histogram_of_times_has_times():
    values = pd.Series([0.5, 0.75, 1.0, 2.5], name="took")
    figure = target_figure(values, "regression", unit="hours", times=True)
    assert figure.layout.xaxis.title.text == "took"
    assert figure.layout.xaxis.ticktext == ("0:30", "1:00", "1:30", "2:00", "2:30")
    (bars,) = figure.data
    assert bars.customdata.tolist() == [["0:30", "1:30"], ["1:30", "2:30"]]
