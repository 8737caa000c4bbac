"""Training an edited tree's sums: what no step betters stays as it was."""

from dataclasses import replace

import numpy as np
import pytest

from tests.editing.tables import COLUMNS, fitted, table
from treelab.learners.common.around import Around
from treelab.learners.get.around import train_around
from treelab.learners.get.settings import GetSettings


@pytest.mark.parametrize("missing_left", [False, True])
def test_a_tree_that_no_step_betters_sends_rows_without_a_value_as_before(missing_left):
    frame = table()
    tree = fitted(frame, "value")
    side = np.full(tree.n_nodes, missing_left)
    start = replace(tree, missing_left=side, between=None, missing_rows=None)
    free = np.ones((tree.n_nodes, len(tree.features)), dtype=bool)
    around = Around(start, ~free[:, 0], free, np.ones(1), lambda one: one)
    still = GetSettings(learning_rate=0.0, n_steps=20, n_starts=1)
    rows = frame[COLUMNS], frame["value"], None
    trained = train_around(around, rows, rows, still, seed=0)
    assert np.array_equal(trained.apply(rows[0]), start.apply(rows[0]))
