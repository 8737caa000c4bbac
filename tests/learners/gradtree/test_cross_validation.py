"""Cross-validation: the plan, the class weights and the number of leaves it takes."""

import numpy as np
import pandas as pd
import pytest
import torch

from treelab.learners.common.objective import ClassObjective
from treelab.learners.gradtree.annealing import Plan, plans_of
from treelab.learners.gradtree.cross_validation import CLEAR, _best, cross_validate
from treelab.learners.gradtree.selection import TargetRows
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.table import Table
from treelab.training.events import Monitor

SETTINGS = GradTreeSettings(max_leaf_nodes=8, n_restarts=2, n_steps=10)


def choose(n_rows, callbacks=(), noise=1.0):
    """What cross-validation settles for a table of two classes, one of them rare."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)))
    y = (frame[0] + noise * rng.normal(size=n_rows) > 1).to_numpy().astype(np.int64)
    table = Table(
        frame=frame,
        target=TargetRows(y, ("no", "yes"), np.array([[1.0, 1.0], [0.5, 2.0]])),
        objective=ClassObjective(class_weights=np.ones((2, 1))),
        values=np.eye(2)[y],
        task="binary",
        seed=0,
    )
    monitor = Monitor(20, callbacks, stage="cross-validation", is_preparation=True)
    generator, random = torch.Generator().manual_seed(0), np.random.RandomState(0)
    return cross_validate(table, SETTINGS, monitor, generator, random)


def test_every_size_has_a_plan_a_weighting_and_a_score():
    choice = choose(150)
    assert choice.sizes.tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert set(choice.plans) <= set(plans_of(SETTINGS))
    assert choice.weighting in (0, 1)
    assert ((choice.scores > 0.4) & (choice.scores < 1)).all()
    assert (choice.n_folds, choice.stopped) == (5, False)
    best = choice.scores.argmax()
    assert choice.chosen <= best


@pytest.mark.slow
def test_greedy_starts_have_small_leaves_where_no_noise_asks_for_large_ones():
    # With so few rows above the threshold a leaf of 20 must mix both classes.
    assert choose(60, noise=0.0).leaf_size < 20
    assert choose(150).leaf_size == 20


def test_too_few_rows_to_hold_out_leave_the_largest_greedy_plan_without_a_score():
    choice = choose(8)
    assert (choice.plan, choice.weighting) == (Plan(8, "greedy"), 0)
    assert choice.chosen == len(choice.sizes) - 1
    assert np.isnan(choice.scores).all()
    assert choice.n_folds == 0


def test_a_callback_stops_it():
    assert choose(60, [lambda report: True]).stopped


PLANS = [Plan(2, "greedy"), Plan(4, "greedy"), Plan(8, "greedy"), Plan(4, "random")]
SIZES = np.array([2, 3, 4, 5, 8])


def scores(seed=0):
    """Scores (plans, W, Z, parts) of luck alone, the second weighting ahead."""
    drawn = np.random.default_rng(seed).normal(0.8, 0.02, size=(4, 3, 5, 20))
    drawn[:, 1] += 0.05
    return drawn


def test_a_size_is_pruned_from_the_next_plan_and_one_weighting_serves_all():
    own = scores()
    own[3] -= 1
    weighting, best = _best(own, PLANS, SIZES)
    assert weighting == 1
    assert best.tolist() == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("ahead", [0.0, 0.2])
def test_a_random_start_is_taken_where_its_lead_is_clear(ahead):
    taken = []
    for seed in range(20):
        own = scores(seed)
        own[3] += ahead
        weighting, best = _best(own, PLANS, SIZES)
        greedy = np.array([0, 1, 1, 2, 2])
        lead = own[3, weighting] - own[greedy, weighting, np.arange(5)]
        clear = lead.mean(1) > CLEAR * lead.std(1, ddof=1) / np.sqrt(20)
        np.testing.assert_array_equal(best, np.where(clear, 3, greedy))
        taken.append(clear.mean())
    assert np.mean(taken) < 0.1 if ahead == 0 else np.mean(taken) == 1
