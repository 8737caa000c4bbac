import numpy as np
import pandas as pd

from treelab.figures.sweeps import history_figure, parallel_figure, size_figure

TRIALS = pd.DataFrame(
    {
        "trial": [0, 1, 2, 3, 4],
        "state": ["done", "pruned", "done", "failed", "done"],
        "score": [0.5, 0.4, 0.7, np.nan, 0.6],
        "n_leaves": [4.0, None, 9.0, None, 3.0],
        "rate": [0.001, 0.1, 1.0, 0.2, 0.01],
        "loss": ["a<b>", "poly", "a<b>", "poly", "poly"],
        "weight": [None, "balanced", None, None, "balanced"],
    }
)


def line(figure, name):
    (found,) = [trace for trace in figure.data if trace.name == name]
    return list(zip(found.x, found.y))


def test_the_best_so_far_only_rises():
    figure = history_figure(TRIALS, "macro F1")
    assert line(figure, "best so far") == [(0, 0.5), (2, 0.7), (4, 0.7)]
    assert line(figure, "pruned") == [(1, 0.4)]


def test_names_of_values_are_no_markup():
    figure = history_figure(TRIALS, "macro F1")
    (points,) = [trace for trace in figure.data if trace.name == "trial"]
    assert "a&lt;b&gt;" in points.customdata[0][1]


def test_the_frontier_has_what_no_smaller_tree_reaches():
    figure = size_figure(TRIALS, "macro F1")
    assert line(figure, "frontier") == [(3.0, 0.6), (9.0, 0.7)]


def test_axes_are_numbers_factors_or_words():
    labels = {"rate": "rate", "loss": "loss", "weight": "weight", "n_leaves": "leaves"}
    (lines,) = parallel_figure(TRIALS, labels, "macro F1").data
    rate, loss, weight, leaves, score = lines.dimensions
    assert list(rate.values) == [-3, 0, -2]
    assert list(loss.ticktext) == ["a<b>", "poly"]
    assert list(weight.ticktext) == ["balanced", "none"]
    assert list(weight.values) == [1, 1, 0]
    assert list(leaves.values) == [4, 9, 3]
    assert list(score.values) == [0.5, 0.7, 0.6]
