"""The frontier of score against size."""

import numpy as np
import pandas as pd
import pytest

from treelab.evaluation.frontier import frontier_line


def line(leaves, held_out, test=None, chosen=None):
    table = pd.DataFrame({"leaves": leaves, "held_out_score": held_out})
    table["test_score"] = held_out if test is None else test
    return frontier_line(table, chosen)


def test_trees_ascend_and_of_equal_sizes_the_best_on_held_out_rows_remains():
    made = line([8, 4, 4, 2], [0.9, 0.7, 0.8, 0.5], [0.1, 0.9, 0.2, 0.3])
    assert made.table["leaves"].tolist() == [2, 4, 8]
    assert made.table["held_out"].tolist() == [0.5, 0.8, 0.9]
    assert made.table["test"].tolist() == [0.3, 0.2, 0.1]
    assert made.table["step"].tolist() == [3, 2, 0]
    assert made.chosen is None


def test_the_chosen_tree_remains_whatever_its_score():
    made = line([8, 4, 4, 2], [0.9, 0.7, 0.8, 0.5], chosen=1)
    assert made.table["held_out"].tolist() == [0.5, 0.7, 0.9]
    assert made.chosen == 1


def test_a_loss_is_better_where_it_is_lower():
    table = pd.DataFrame({"leaves": [4, 2], "valid_loss": [0.2, 0.6]})
    made = frontier_line(table, None)
    assert made.score_within("held_out", 4) == pytest.approx(-0.2)
    assert np.isnan(made.score_within("test", 4))


def test_the_worse_line_needs_more_leaves_or_never_gets_there():
    greedy = line([2, 8, 16], [0.5, 0.6, 0.9])
    trained = line([4, 8], [0.8, 0.85])
    assert (
        greedy.score_within("held_out", 8),
        trained.score_within("held_out", 8),
    ) == (0.6, 0.85)
    assert greedy.leaves_for("held_out", 0.85) == 16
    same = np.nextafter(greedy.table["held_out"].max(), 1)  # added up in another order
    assert greedy.leaves_for("held_out", same) == 16
    assert trained.leaves_for("held_out", greedy.score_within("held_out", 16)) is None
    assert np.isnan(trained.score_within("held_out", 2))


def test_held_out_rows_choose_the_tree_of_a_size_and_never_test_rows():
    made = line([2, 4, 8], [0.5, 0.7, 0.6], [0.9, 0.2, 0.8])
    assert made.place_for(8) == 1
    assert (made.score_within("held_out", 8), made.score_within("test", 8)) == (
        0.7,
        0.2,
    )
    assert made.place_for(3) == 0
    assert made.place_for(1) is None
    unknown = line([2, 4, 8], [np.nan] * 3, [0.9, 0.2, 0.8])
    assert unknown.place_for(8) == 2


def test_a_single_leaf_is_left_out_unless_it_was_retained():
    assert line([4, 1], [0.9, 0.4]).table["leaves"].tolist() == [4]
    assert line([4, 1], [0.9, 0.4], chosen=1).table["leaves"].tolist() == [1, 4]
    assert line([1], [0.4]).table["leaves"].tolist() == [1]
