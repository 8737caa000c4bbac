"""The tab Tune starts a search, shows its trials, and makes a run of one."""

import pandas as pd
import pytest
from optuna.distributions import IntDistribution
from optuna.trial import TrialState

from pages.train import tune
from tests.pages.stores import table
from treelab.data.problem import make_problem
from treelab.learners.common.settings import Range, Values
from treelab.learners.registry import LEARNERS
from treelab.runs.jobs.run_one import run_one
from treelab.runs.jobs.sweep import create_sweep
from treelab.runs.sweeps import SweepPlan, open_study, presets, suggest


def fruit_problem(store):
    frame = table()
    table_id = store.add_table(frame, "fruit")
    return make_problem(frame, "kind", table_id=table_id, table_name="fruit")


def swept(store, n_trials=5):
    plan = SweepPlan({"max_depth": Range(1, 4)}, n_trials, scoring="validation")
    run_id = create_sweep(store, "cart", {"tune": False}, fruit_problem(store), plan)
    run_one(run_id, store.home)
    return run_id


def test_a_sweep_is_started_with_the_space_that_is_shown(store, visit):
    app = visit("train", tab="Tune")
    assert "No sweep on this table yet" in app.info[0].value
    app.selectbox(key="sweep-learner").select("cart").run()
    app.number_input(key="sweep-trials").set_value(7).run()
    app.button(key="sweep-start").click().run()
    assert not app.exception
    (run,) = store.runs()
    plan = SweepPlan.from_json(store.plan(run.id, "sweep"))
    assert (run.learner, plan.n_trials, plan.scoring) == ("cart", 7, "folds")
    assert "max_depth" in plan.space


def test_a_finished_sweep_shows_its_trials(store, visit):
    run_id = swept(store)
    app = visit("train", tab="Tune", sweep=run_id)
    assert not app.exception
    assert any("5 of 5 trials" in text.value for text in app.markdown)
    table = app.dataframe[-1].value
    assert len(table) == 5
    scores = table["score"].dropna()
    assert scores.is_monotonic_decreasing
    assert app.button(key="sweep-train").disabled


def test_a_ticked_trial_is_no_other_once_a_better_one_ends(store, visit):
    run_id = swept(store)
    app = visit("train", tab="Tune", sweep=run_id)
    key = app.dataframe[-1].proto.id.split("-", 2)[2]
    app.session_state[key] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    assert app.run().button(key="sweep-train").label.startswith("Train trial")
    study = open_study(store.folder(run_id))
    study.tell(study.ask({"max_depth": IntDistribution(1, 4)}), 2.0)
    assert app.run().button(key="sweep-train").label == "Train this trial"


def test_a_trial_that_drew_no_settings_is_not_trained_with_the_best(store, visit):
    run_id = swept(store)
    study = open_study(store.folder(run_id))
    study.tell(study.ask(), state=TrialState.FAIL)  # as one that was cut off at once
    app = visit("train", tab="Tune", sweep=run_id)
    key = app.dataframe[-1].proto.id.split("-", 2)[2]
    for row, is_known in ((0, True), (5, False)):
        picked = {"selection": {"rows": [row], "columns": [], "cells": []}}
        app.session_state[key] = picked
        button = app.run().button(key="sweep-train")
        assert button.label.startswith("Train trial")
        assert button.disabled != is_known


def test_a_setting_may_be_called_as_what_is_measured(store, visit):
    plan = SweepPlan({"depth": Values((2, 3))}, n_trials=9)
    run_id = create_sweep(store, "argmin", {}, fruit_problem(store), plan)
    study = open_study(store.folder(run_id))
    for _ in range(3):
        trial = study.ask()
        suggest(trial, plan.space)
        trial.set_user_attr("depth", 1.5)
        study.tell(trial, 0.5)
    app = visit("train", tab="Tune", sweep=run_id)
    assert not app.exception
    shown = app.dataframe[-1].value
    assert set(shown["tree_depth"]) == {1.5}
    assert set(shown["depth"]) <= {2, 3}


def test_a_sweep_without_a_trial_says_how_far_it_is(store, visit):
    plan = SweepPlan({"max_depth": Range(1, 4)}, 5)
    run_id = create_sweep(store, "cart", {"tune": False}, fruit_problem(store), plan)
    store.submit(run_id)
    app = visit("train", tab="Tune", sweep=run_id)
    assert not app.exception
    assert any("0 of 5 trials" in text.value for text in app.markdown)
    app.button(key="sweep-stop").click().run()
    assert not app.exception


def test_a_setting_that_a_search_space_names_twice_is_refused(monkeypatch):
    def with_first_row_twice(table, **options):
        return pd.concat([table, table[:1]])

    monkeypatch.setattr(tune.st, "data_editor", with_first_row_twice)
    preset = presets("cart")["treelab"].of_task(LEARNERS["cart"], "binary")
    with pytest.raises(ValueError, match=r"names \w+ twice"):
        tune._space_table(LEARNERS["cart"], "binary", preset, "space")
