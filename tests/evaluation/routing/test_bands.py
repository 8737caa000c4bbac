"""Bands of a number target."""

import numpy as np

from treelab import CartRegressor
from treelab.evaluation.routing import row_groups, target_bands


def test_thirds_of_the_training_values_make_the_bands():
    band, borders = target_bands(np.arange(301.0), [0, 100, 101, 200, 250])
    assert borders == (100, 200)
    assert band.tolist() == ["low", "low", "middle", "middle", "high"]


def test_thirds_that_end_at_one_value_have_no_middle():
    counts = np.array([0] * 80 + [1] * 15 + [3] * 5)
    tree = CartRegressor(max_leaf_nodes=2).fit(counts[:, None], counts).tree_
    groups = row_groups(counts, classes=None, y_train=counts, model=tree)
    assert {name: int(rows.sum()) for name, rows in groups.items()} == {
        "low (up to 0)": 80,
        "high (above 0)": 20,
    }
