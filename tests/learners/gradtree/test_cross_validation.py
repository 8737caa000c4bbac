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


def choose(n_rows, callbacks=()):
    """What cross-validation settles for a table of two classes, one of them rare."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)))
    y = (frame[0] + rng.normal(size=n_rows) > 1).to_numpy().astype(np.int64)
    table = Table(
        frame=frame,
        target=TargetRows(y, ("no", "yes"), np.array([[1.0, 1.0], [0.5, 2.0]])),
        objective=ClassObjective(class_weights=np.ones((2, 1))),
        values=np.eye(2)[y],
        task="binary",
        seed=0,
    )
    monitor = Monitor(20, callbacks, stage="cross-validation", is_preparation=True)
    return cross_validate(
        table,
        SETTINGS,
        monitor,
        torch.Generator().manual_seed(0),
        np.random.RandomState(0),
    )


def test_every_size_has_a_plan_a_weighting_and_a_score():
    choice = choose(150)
    assert choice.sizes.tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert set(choice.plans) <= set(plans_of(SETTINGS))
    assert set(choice.weightings) <= {0, 1}
    assert ((choice.scores > 0.4) & (choice.scores < 1)).all()
    assert (choice.n_folds, choice.stopped) == (5, False)
    best = choice.scores.argmax()
    assert choice.chosen <= best


def test_too_few_rows_to_hold_out_leave_the_largest_greedy_plan_without_a_score():
    choice = choose(8)
    assert choice.best == (Plan(8, "greedy"), 0)
    assert choice.chosen == len(choice.sizes) - 1
    assert np.isnan(choice.scores).all()
    assert choice.n_folds == 0


def test_a_callback_stops_it():
    assert choose(60, [lambda report: True]).stopped


def slow_best(scores, is_random):
    """The best greedy plan and weighting of one size, or a random one clear of it."""
    mean = scores.mean(-1)  # (plans, W)
    places = list(np.ndindex(mean.shape))
    greedy = max((p for p in places if not is_random[p[0]]), key=lambda p: mean[p])
    rival = max((p for p in places if is_random[p[0]]), key=lambda p: mean[p])
    lead = scores[rival] - scores[greedy]
    error = lead.std(ddof=1) / np.sqrt(len(lead))
    return rival if lead.mean() > CLEAR * error else greedy


@pytest.mark.parametrize("ahead", [0.0, 0.03, 0.2])
def test_a_random_start_is_taken_where_its_lead_is_clear(ahead):
    rng = np.random.default_rng(0)
    is_random = np.array([False, False, True, True])
    scores = rng.normal(0.8, 0.05, size=(4, 3, 20, 5))
    scores[is_random] += ahead
    best = _best(scores, is_random)
    found = [divmod(int(own), 3) for own in best]
    assert found == [slow_best(scores[:, :, z], is_random) for z in range(20)]
    taken = is_random[[plan for plan, _ in found]].mean()
    assert taken < 0.5 if ahead == 0 else taken > 0


def test_without_random_starts_the_best_greedy_one_is_taken():
    scores = np.random.default_rng(0).normal(size=(2, 1, 6, 5))
    best = _best(scores, np.array([False, False]))
    assert best.tolist() == scores.mean(-1)[:, 0].argmax(0).tolist()
