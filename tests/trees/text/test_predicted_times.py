"""Times of day and durations in words: of columns, and of what is predicted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from treelab.evaluation.comparison import disagreement
from treelab.evaluation.explanations import because_sentence
from treelab.evaluation.metrics import score_text
from treelab.evaluation.node_report import score_leaf
from treelab.evaluation.predictions import predicted_words
from treelab.evaluation.routing import row_groups
from treelab.figures.overview import overview_figure
from treelab.figures.rules import rules_table
from treelab.trees.cells import HOURS, CellForm
from treelab.trees.feature import Feature
from treelab.trees.text import interval_text, path_sentences, target_title
from treelab.trees.tree import Tree
from treelab.trees.words import clock_text, round_times, short_time

TIMES = CellForm(unit=HOURS, times="h:mm:ss", example="1:28:13")


def durations() -> tuple[Tree, pd.DataFrame]:
    """A tree that predicts how long something takes, and its rows."""
    X = pd.DataFrame({"kg": [1.0, 2.0, 8.0, 9.0]})
    names = {"target": "took", "target_unit": HOURS, "target_form": TIMES}
    tree = Tree.complete((Feature("kg"),), [0], [5.0], [True], [0.75, 2.5], **names)
    tree = tree.with_rows(X, np.array([0.5, 1.0, 2.0, 3.0]))
    own = np.array([[-0.5, 0.5]] * 3)
    return replace(tree, interval=own, interval_level=0.8), X


def test_a_predicted_time_is_written_as_one():
    tree, X = durations()
    assert target_title(tree) == "took"
    assert target_title(replace(tree, target_form=None)) == "took (hours)"
    assert path_sentences(tree, X[:1])[-1] == "took: 0:45."
    assert interval_text(tree, X[:1]) == "80% between 0:15 and 1:15"
    assert " of 1:37:30 because" in because_sentence(tree, X[:1])
    words = predicted_words(tree, pd.Series(tree.predict(X), name="prediction"))
    assert words == "4 rows: took 1:37:30 on average, from 0:45 to 2:30"
    tree = replace(tree, target="paid", target_unit="$", target_form=None)
    words = predicted_words(tree, pd.Series(tree.predict(X), name="prediction"))
    assert words == "4 rows: paid $1.62 on average, from $0.750 to $2.50"


def test_scores_in_units_of_times_are_times():
    tree, _ = durations()
    assert score_text("rmse", 0.14, tree) == "0:08:24"
    assert score_text("mae", 0.5, replace(tree, target_form=None)) == "0.500 hours"
    shares = replace(tree, target_form=None, target_unit="%")
    assert score_text("mae", 1.71, shares) == "1.71 percentage points"
    assert score_text("rmse", 9.8, replace(shares, target_unit="$")) == "$9.80"
    assert score_text("r2", 0.968, tree) == "0.968"


def test_errors_differences_groups_and_rules_of_times_are_times():
    tree, X = durations()
    truth = np.array([0.5, 1.0, 2.0, 3.0])
    leaf = tree.path(X[:1])[-1]
    words = score_leaf(tree, leaf, X, truth).sentence(tree)
    assert words == "This leaf: 2 of 4 test rows, mean absolute error 0:15."
    found = disagreement("regression", truth, tree.predict(X), tree.predict(X) + 0.5)
    assert "differ by 0:30 on average" in found.sentences(("A", "B"), tree)
    groups = row_groups(truth, classes=None, y_train=truth, model=tree)
    assert [*groups] == [
        "low (up to 1:00)",
        "middle (1:00 to 2:00)",
        "high (above 2:00)",
    ]
    table = rules_table(tree, {})
    assert "<td>2:30</td>" in table
    assert "hours" not in table
    (areas,) = overview_figure(tree, {}).data
    assert areas.marker.colorbar.title.text == "took"
    assert "1:00" in areas.marker.colorbar.ticktext


@pytest.mark.parametrize(
    ("hours", "words"),
    [
        (17.0341, "17:02"),
        (0.0134, "0:00:48"),
        (0.75, "0:45"),
        (-1.5, "−1:30"),
        (0, "0:00"),
    ],
)
def test_a_time_is_rounded_to_what_tells(hours, words):
    assert short_time(hours) == words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (6.1, 21.9, ["9:00", "12:00", "15:00", "18:00", "21:00"]),
        (0, 0.1, ["0:00", "0:01", "0:02", "0:03", "0:04", "0:05", "0:06"]),
        (-30, 30, ["−24:00", "−12:00", "0:00", "12:00", "24:00"]),
    ],
)
def test_axes_have_round_times(low, high, words):
    assert [clock_text(hours) for hours in round_times(low, high)] == words


@pytest.mark.parametrize("low", [-1e5, 0, 3.7])
@pytest.mark.parametrize("span", [0, 1e-7, 1e-3, 5, 77, 3e4])
def test_axes_have_few_times(low, span):
    found = round_times(low, low + span)
    assert len(found) <= 8
    assert np.allclose(np.diff(found, 2), 0, atol=1e-6)
