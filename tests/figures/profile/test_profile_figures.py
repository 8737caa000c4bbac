"""Pictures of a table's profile hold what was counted, names escaped."""

import re

import numpy as np
import pandas as pd

from treelab.data.problem import make_problem
from treelab.evaluation.profile import associations, distribution
from treelab.figures.profile import (
    MOST_CLASSES,
    associations_figure,
    distribution_figure,
)
from treelab.trees.words import short_time

X = np.arange(120) % 13


def test_a_bar_a_class_and_few_colours_for_many_classes():
    frame = pd.DataFrame({"x": X, "y": [f"<b>{i % 20}" for i in range(120)]})
    found = distribution(frame["x"], frame["y"], make_problem(frame, "y"))
    figure = distribution_figure(found, "<i>x", "y", mode="dark")
    assert len(figure.data) == MOST_CLASSES + 1
    assert sum(sum(bar.y) for bar in figure.data) == 120
    assert "&lt;b&gt;" in figure.data[0].name
    assert figure.layout.xaxis.title.text == "&lt;i&gt;x"


def test_a_regression_has_the_mean_below():
    frame = pd.DataFrame({"x": X, "y": X * 2.5})
    found = distribution(frame["x"], frame["y"], make_problem(frame, "y"))
    figure = distribution_figure(found, "x", "y (kg)")
    assert figure.data[1].y[3] == 7.5
    assert figure.layout.yaxis2.title.text == "mean y (kg)"


def test_means_of_times_are_written_as_times():
    frame = pd.DataFrame({"x": X, "y": X / 4})
    found = distribution(frame["x"], frame["y"], make_problem(frame, "y"))
    figure = distribution_figure(found, "x", "y", times=True)
    assert figure.data[1].text[3] == "0:45"
    assert all(":" in tick for tick in figure.layout.yaxis2.ticktext)
    words = found.sentence("x", "y", number=short_time)
    assert re.search(r"mean y \d:\d\d, \d:\d\d in all", words)


def test_associations_are_drawn_without_their_diagonal():
    frame = pd.DataFrame({"$a$": X, "b": -X, "c": X % 2})
    figure = associations_figure(associations(frame))
    drawn = np.array(figure.data[0].z, dtype=float)
    assert np.isnan(np.diag(drawn)).all()
    assert np.nanmax(drawn) == 1
    assert "&#36;a&#36;" in figure.layout.xaxis.ticktext
