"""The matrix of agreement."""

import numpy as np

from treelab.figures.comparison import agreement_figure

MATRIX = np.array([[1, 0.9, 0.5], [0.9, 1, np.nan], [0.5, np.nan, 1]])


def test_every_pair_that_compares_has_its_number():
    figure = agreement_figure(MATRIX, ["CART", "<i>", "GRANDE"])
    assert {note.text for note in figure.layout.annotations} == {"90", "50"}
    assert len(figure.layout.annotations) == 4
    assert "&lt;i&gt;" in figure.layout.xaxis.ticktext


def test_correlations_are_written_as_such():
    figure = agreement_figure(MATRIX, ["a", "b", "c"], as_percent=False)
    assert {note.text for note in figure.layout.annotations} == {"0.90", "0.50"}


def test_equal_models_can_be_drawn():
    assert agreement_figure(np.ones((2, 2)), ["a", "b"]).data
