"""Plans and starts of cross-validation, and the steps that train them."""

import numpy as np
import pandas as pd
import pytest
import torch

from treelab.learners.common.objective import ClassObjective
from treelab.learners.gradtree.annealing import (
    Plan,
    make_starts,
    plans_of,
    train,
)
from treelab.learners.gradtree.encodings import encode
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.training.events import Monitor

SETTINGS = GradTreeSettings(max_leaf_nodes=16, n_steps=20)


def rows(n_rows=100, n_folds=1):
    """Encodings of a table of numbers, its classes, and their indicators."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 4)))
    y = (frame[0] * frame[1] > 0).to_numpy().astype(np.int64)
    number = np.arange(n_rows) % 5
    encodings = [
        encode(frame, y, number == fold, task="binary", seed=0)
        for fold in range(n_folds)
    ]
    return encodings, y, np.eye(2)[y]


@pytest.mark.parametrize(
    ("most", "greedy", "random"),
    [
        (2, [2], []),
        (4, [2, 4], [4]),
        (13, [2, 4, 8, 13], [4, 8]),
        (16, [2, 4, 8, 16], [4, 8]),
    ],
)
def test_sizes_double_up_to_the_most_leaves(most, greedy, random):
    plans = plans_of(GradTreeSettings(max_leaf_nodes=most))
    assert [p.size for p in plans if p.kind == "greedy"] == greedy
    assert [p.size for p in plans if p.kind == "random"] == random


def test_every_plan_starts_in_every_fold_and_like_shapes_stand_together():
    encodings, y, values = rows(n_folds=3)
    plans = plans_of(SETTINGS)
    starts = make_starts(
        encodings, y, values, plans, 2, SETTINGS, np.random.RandomState(0), [1]
    )
    for fold in range(3):
        for plan in plans:
            own = [s for s in starts if s.plan == plan and s.encoding == fold]
            assert len(own) == (2 if plan.kind == "greedy" else 4)
            for start in own:
                assert start.start.kind == plan.kind
                assert start.start.tree.n_leaves <= plan.size
    shapes = [start.start.columns.shape for start in starts]
    assert shapes == sorted(shapes, key=lambda shape: shape[::-1])


def test_a_larger_greedy_plan_is_left_out_where_rows_fill_no_more_leaves():
    encodings, y, values = rows(n_rows=12)
    plans = [Plan(4, "greedy"), Plan(8, "greedy"), Plan(16, "greedy")]
    encodings = [encode(pd.DataFrame(y), y, y < 0, task="binary", seed=0)]
    starts = make_starts(
        encodings, y, values, plans, 2, SETTINGS, np.random.RandomState(0)
    )
    assert {start.plan.size for start in starts} == {4}


def trained(settings, callbacks=()):
    """Starts of two folds, trained with these settings."""
    encodings, y, values = rows(n_folds=2)
    starts = make_starts(
        encodings, y, values, plans_of(settings), 2, settings, np.random.RandomState(0)
    )
    found = train(
        encodings,
        starts,
        y,
        ClassObjective(class_weights=np.ones((2, 1))),
        settings,
        Monitor(20, callbacks),
        torch.Generator().manual_seed(0),
    )
    return starts, *found


def test_training_lowers_the_loss_of_the_hard_trees():
    _, untrained, _ = trained(GradTreeSettings(max_leaf_nodes=8, n_steps=1))
    _, trees, stopped = trained(GradTreeSettings(max_leaf_nodes=8, n_steps=60))
    everything = torch.arange(100)
    assert not stopped
    assert trees.hard_loss(everything).mean() < untrained.hard_loss(everything).mean()


def test_rows_of_the_other_folds_alone_weigh_in_a_tree():
    starts, trees, _ = trained(GradTreeSettings(max_leaf_nodes=4, n_steps=1))
    number = np.arange(100) % 5
    for start, weight in zip(starts, trees.weight.numpy()):
        np.testing.assert_array_equal(weight == 0, number == start.encoding)


def test_rates_of_zero_move_nothing():
    still = dict.fromkeys(
        ("learning_rate_index", "learning_rate_values", "learning_rate_leaf"), 0.0
    )
    starts, trees, _ = trained(GradTreeSettings(max_leaf_nodes=8, n_steps=5, **still))
    for tree, start in zip(trees.hard_trees(), starts):
        np.testing.assert_array_equal(tree.feature, start.start.tree.feature)
        np.testing.assert_array_equal(tree.threshold, start.start.tree.threshold)


def test_a_callback_stops_it():
    reports = []

    def stop(report):
        reports.append(report)
        return len(reports) == 3

    _, _, stopped = trained(GradTreeSettings(max_leaf_nodes=4, n_steps=50), [stop])
    assert stopped
    assert len(reports) == 3


def test_a_loss_that_is_no_number_says_what_to_try():
    with pytest.raises(FloatingPointError, match="smaller learning_rate_values"):
        trained(GradTreeSettings(n_steps=20, learning_rate_leaf=1e38))
