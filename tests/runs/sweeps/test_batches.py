"""Trials that train as one batch: who goes with whom, and what the search hears."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from optuna.trial import FixedTrial

from treelab.data.problem import Problem
from treelab.learners.cart.estimators import CartClassifier
from treelab.learners.common.search_space import Range, Values
from treelab.learners.registry import LEARNERS
from treelab.runs.jobs.run_one import run_one
from treelab.runs.jobs.sweep import create_sweep
from treelab.runs.store.run_store import RunStore
from treelab.runs.sweeps import batches as batches_module
from treelab.runs.sweeps.batches import batches, trials_at_once
from treelab.runs.sweeps.plan import SweepPlan
from treelab.runs.sweeps.study import batch_words, read_study, trial_table
from treelab.runs.sweeps.trial_score import TrialScorer

SPACE = {"max_depth": Range(1, 6), "min_samples_leaf": Values((1, 20))}


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path)


@pytest.fixture
def problem(store):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 3)), columns=list("abc"))
    frame["y"] = np.where(frame["a"] * frame["b"] > 0, "yes", "no")
    table_id = store.add_table(frame, "t")
    return Problem(table_id, "t", "y", ("a", "b", "c"), task="binary")


@pytest.fixture
def together(monkeypatch):
    """CART as a learner that trains batches: the sizes of these, one a fit."""
    sizes = []

    def fit_batch(cls, estimators, X, y, *, callbacks=(), memo=None):
        sizes.append(len(estimators))
        for each in estimators:
            each.fit(X, y, callbacks=callbacks)

    monkeypatch.setattr(
        CartClassifier, "batch_key", lambda self, n: self.min_samples_leaf, False
    )
    monkeypatch.setattr(CartClassifier, "fit_batch", classmethod(fit_batch), False)
    spec = replace(LEARNERS["cart"], trains_batches=True)
    monkeypatch.setitem(LEARNERS, "cart", spec)
    return sizes


def created(store, problem):
    """A sweep that has not begun."""
    plan = SweepPlan(SPACE)
    return store.run(create_sweep(store, "cart", {"tune": False}, problem, plan))


def swept(store, problem, **plan):
    plan = SweepPlan(**{"space": SPACE, "n_trials": 8, "scoring": "validation"} | plan)
    run_id = create_sweep(store, "cart", {"tune": False}, problem, plan)
    run_one(run_id, store.home)
    return store.run(run_id), read_study(store.folder(run_id))


def test_trials_that_agree_train_as_one_batch_and_score_as_alone(
    store, problem, together
):
    run, study = swept(store, problem, batch=4)
    table = trial_table(study)
    assert run.state == "done"
    assert table["state"].tolist() == ["done"] * 8
    for first in (0, 4):  # of each four, those with one min_samples_leaf
        of_four = table.iloc[first : first + 4]
        counts = of_four["min_samples_leaf"].value_counts()
        wanted = of_four["min_samples_leaf"].map(counts)
        assert of_four["batch"].fillna(1).tolist() == wanted.tolist()
    assert sum(together) == 8
    assert max(together) > 1
    words = batch_words(table)
    assert "trained" in words
    assert words in run.summary["notes"][0]
    split = problem.split(store.table(problem.table_id))
    alone = TrialScorer(run, SweepPlan(SPACE, 1, "validation"), split)
    for trial in study.trials:
        score = alone.score(FixedTrial(trial.params), trial.params, lambda done: False)
        assert score == trial.value


def test_a_seed_fixes_the_trials_of_one_worker(store, problem, together):
    found = [swept(store, problem, batch=3, seed=5)[1].trials for _ in range(2)]
    assert [t.params for t in found[0]] == [t.params for t in found[1]]


def test_one_at_once_trains_no_batch(store, problem, together):
    _, study = swept(store, problem, batch=1, n_trials=3)
    assert together == [1] * 3
    assert "batch" not in trial_table(study)
    assert batch_words(trial_table(study)) == ""


class Hopeless(FixedTrial):
    """A trial that is pruned as soon as it may be."""

    def should_prune(self):
        return self._params["max_depth"] == 1


def test_a_hopeless_trial_leaves_its_batch(store, problem, together):
    run = created(store, problem)
    drawn = [{"max_depth": depth, "min_samples_leaf": 1} for depth in (1, 3, 5)]
    trials = [Hopeless(own) for own in drawn]
    split = problem.split(store.table(problem.table_id))
    scorer = TrialScorer(run, SweepPlan(SPACE, 3, "folds"), split)
    scores = scorer.score_batch(trials, drawn, lambda done: False)
    assert together == [3, 2, 2]
    assert scores[0] is None
    assert all(score > 0.4 for score in scores[1:])
    assert "standard_error" in trials[1].user_attrs


def test_where_a_batch_fails_each_trial_is_tried_alone(
    store, problem, together, monkeypatch
):
    fit_batch = CartClassifier.fit_batch

    def fails(estimators, *rows, **more):
        if len(estimators) > 1:
            raise ArithmeticError("One of them diverged.")
        fit_batch(estimators, *rows, **more)

    monkeypatch.setattr(CartClassifier, "fit_batch", fails)
    run, study = swept(store, problem, batch=8)
    table = trial_table(study)
    assert run.state == "done"
    assert table["state"].tolist() == ["done"] * 8
    assert batch_words(table) == ""


def test_a_stop_interrupts_the_whole_batch(store, problem, together):
    plan = SweepPlan(SPACE, 8, "validation", batch=4)
    run_id = create_sweep(store, "cart", {"tune": False}, problem, plan)
    run_one(run_id, store.home, callbacks=[lambda report: report.epoch >= 1])
    states = trial_table(read_study(store.folder(run_id)))["state"].tolist()
    assert states[:4] == ["interrupted"] * 4 or "done" in states
    assert "running" not in states


def test_a_batch_fits_into_memory_and_what_cannot_be_read_stays_alone(
    store, problem, together, monkeypatch
):
    run = created(store, problem)
    drawn = [{"max_depth": depth} for depth in (1, 2, 3, 4)]
    assert batches(run, drawn, 90) == [[0, 1, 2, 3]]
    assert batches(run, [*drawn, {"max_depth": -1}], 90) == [[0, 1, 2, 3], [4]]
    needed = batches_module.needed_bytes("cart", run.settings, problem, 90)
    monkeypatch.setattr(batches_module, "free_bytes", lambda: 4.2 * needed)
    assert batches(run, drawn, 90) == [[0, 1], [2, 3]]
    monkeypatch.setattr(batches_module, "free_bytes", lambda: 0.0)
    assert batches(run, drawn, 90) == [[0], [1], [2], [3]]


def test_batches_are_for_cuda_and_for_learners_that_train_them(
    store, problem, together, monkeypatch
):
    run = created(store, problem)
    plan = SweepPlan(SPACE)
    assert trials_at_once(run, plan) == 1
    assert trials_at_once(run, SweepPlan(SPACE, batch=5)) == 5
    monkeypatch.setattr(batches_module, "_is_on_cuda", lambda run: True)
    assert trials_at_once(run, plan) == batches_module.ON_CUDA
    monkeypatch.undo()
    assert trials_at_once(run, SweepPlan(SPACE, batch=5)) == 1  # CART itself


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ([None, 5, 5, 5, 5, 5], "5 trials trained as one batch"),
        ([3, 3, 3, 2, 2, None], "5 trials trained in batches of up to 3"),
        ([1, 1], ""),
    ],
)
def test_batches_in_words(sizes, words):
    assert batch_words(pd.DataFrame({"batch": sizes})) == words


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["own", "folds"])
def test_gradtrees_trials_score_in_a_batch_as_they_do_alone(store, problem, scoring):
    space = {
        "max_leaf_nodes": Values((4, 8)),
        "learning_rate_index": Range(0.01, 0.2, log=True),
        "loss": Values(("cross_entropy", "focal")),
    }
    plan = SweepPlan(space, 6, scoring, batch=6)
    run_id = create_sweep(store, "gradtree", {"n_steps": 20}, problem, plan)
    run_one(run_id, store.home)
    study, run = read_study(store.folder(run_id)), store.run(run_id)
    assert batch_words(trial_table(study)) == "6 trials trained as one batch"
    alone = TrialScorer(run, plan, problem.split(store.table(problem.table_id)))
    for trial in (t for t in study.trials if t.state.name == "COMPLETE"):
        score = alone.score(FixedTrial(trial.params), trial.params, lambda done: False)
        assert score == pytest.approx(trial.value, abs=1e-6)
