import json
import time
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.trial import create_trial
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from tests.runs.conftest import problem_in, taken_up
from tests.runs.workers.slow_tree import SPEC
from treelab import CartClassifier
from treelab.data.builtin import BUILTIN
from treelab.data.problem import Problem
from treelab.learners.common.settings import (
    Range,
    Values,
    check_space,
    from_plain,
    to_plain,
)
from treelab.learners.registry import LEARNERS, complete_settings
from treelab.learners.setting_text import parse_tried
from treelab.runs.jobs import sweep
from treelab.runs.jobs.run_one import run_one
from treelab.runs.jobs.sweep import Search, create_sweep, create_trial_run, help_sweep
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.workers import ProcessId
from treelab.runs.sweeps import (
    SweepPlan,
    ask_trial,
    best_trial,
    clear_settings,
    end_stale_trials,
    n_ended,
    n_running,
    note_seen,
    open_study,
    presets,
    read_study,
    seconds_searched,
    trial_settings,
    trial_table,
    trial_title,
)
from treelab.runs.workers.queue import Queue
from treelab.training.events import Progress

SPACE = {"max_depth": Range(1, 4), "min_samples_leaf": Values((1, 40))}
PLAIN = {"tune": False}


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path)


@pytest.fixture
def problem(store):
    iris = BUILTIN["iris"]
    columns = tuple(iris.load().columns.drop(iris.target))
    table_id = store.add_table(iris.load(), "iris")
    return Problem(table_id, "iris", iris.target, columns, task="multiclass")


def swept(store, problem, settings=PLAIN, **plan):
    plan = SweepPlan(**{"space": SPACE, "n_trials": 4, "n_folds": 2} | plan)
    run_id = create_sweep(store, "cart", dict(settings), problem, plan)
    run_one(run_id, store.home)
    return store.run(run_id), read_study(store.folder(run_id))


def test_who_was_taken_for_dead_sets_no_settings(store, problem, monkeypatch):
    def best(study):
        taken_up(store, store.runs()[0].id)
        return best_trial(study)

    monkeypatch.setattr(sweep, "best_trial", best)
    run, _ = swept(store, problem, PLAIN | {"max_depth": 7}, n_trials=1)
    assert (run.state, run.settings["max_depth"]) == ("running", 7)


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["folds", "validation"])
def test_the_run_has_the_settings_of_the_best_trial(store, problem, scoring):
    run, study = swept(store, problem, scoring=scoring)
    assert run.state == "done"
    assert run.has_model
    best = best_trial(study)
    assert run.summary["sweep_score"] == best.value
    assert {name: run.settings[name] for name in SPACE} == best.params
    assert run.settings["tune"] is False
    table = trial_table(study)
    assert len(table) == 4
    assert best.value == table.loc[table["state"] == "done", "score"].max()
    assert store.model(run.id).depth <= best.params["max_depth"]
    assert "Settings chosen by a sweep of 4 trials" in run.summary["notes"][0]
    assert "likely too high for new rows" in run.summary["notes"][0]


@pytest.mark.slow
def test_a_score_is_that_of_the_folds_by_hand(store, problem):
    _, study = swept(store, problem, n_trials=2, n_folds=3)
    split = problem.split(store.table(problem.table_id))
    X, y, _ = split.rows("train+valid")
    trial = study.trials[1]
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
    scores = []
    for fit, held_out in folds:
        tree = CartClassifier(tune=False, random_state=0, **trial.params)
        tree.fit(X.iloc[fit], y.iloc[fit])
        predicted = tree.predict(X.iloc[held_out])
        scores.append(f1_score(y.iloc[held_out], predicted, average="macro"))
    assert trial.value == pytest.approx(np.mean(scores))
    error = np.std(scores, ddof=1) / np.sqrt(3)
    assert trial.user_attrs["standard_error"] == pytest.approx(error)


def test_more_folds_than_rows_are_refused(store, problem):
    plan = SweepPlan(SPACE, n_folds=500)
    run = store.run(create_sweep(store, "cart", PLAIN, problem, plan))
    split = problem.split(store.table(problem.table_id))
    for task, what in ((problem.task, "rows of a class"), ("regression", "rows")):
        asked = replace(run, problem=replace(problem, task=task))
        with pytest.raises(ValueError, match=f"500 folds need at least 500 {what};"):
            list(Search(asked, plan, split, None, ())._parts())


def test_the_defaults_are_tried_first(store, problem):
    space = {"max_depth": Range(1, 4), "min_samples_leaf": Values((1, 40))}
    settings = {"tune": False, "max_depth": 3}
    _, study = swept(store, problem, settings, space=space, n_trials=1)
    assert study.trials[0].params == {"max_depth": 3, "min_samples_leaf": 1}


@pytest.mark.parametrize("learner", ["gradtree", "grande", "get"])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_a_learners_own_settings_lie_in_its_search_space(learner, task):
    spec = LEARNERS[learner]
    preset = presets(learner)["treelab"].of_task(spec, task)
    own = spec.defaults(task)
    assert [n for n, tried in preset.space.items() if own[n] not in tried] == []


def test_an_interrupted_search_goes_on_where_it_was(store, problem):
    plan = SweepPlan(SPACE, n_trials=5, scoring="validation")
    run_id = create_sweep(store, "cart", PLAIN, problem, plan)
    study = open_study(store.folder(run_id))
    for depth, score in ((1, 0.2), (2, 2.0)):  # no score is that high
        study.enqueue_trial({"max_depth": depth, "min_samples_leaf": 1})
        trial = study.ask()
        trial.suggest_int("max_depth", 1, 4)
        trial.suggest_categorical("min_samples_leaf", (1, 40))
        study.tell(trial, score)
    study.ask().set_user_attr("process", "here/1/0.0")  # and was killed
    run_one(run_id, store.home)
    table = trial_table(read_study(store.folder(run_id)))
    assert table["state"].tolist().count("done") == 5
    assert table["state"].tolist().count("interrupted") == 1
    assert store.run(run_id).settings["max_depth"] == 2


def test_a_search_that_is_interrupted_tries_what_it_would_have_tried(store, problem):
    space = {"max_depth": Range(1, 6), "min_samples_leaf": Range(1, 40)}
    plan = SweepPlan(space, n_trials=13, scoring="validation", seed=3)

    def trials_of(*cut_off):
        run_id = create_sweep(store, "cart", PLAIN, problem, plan)
        for trial in cut_off:

            def end(report, trial=trial):
                if report.stage == "search" and report.epoch >= trial:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                run_one(run_id, store.home, callbacks=[end])
            store.resume(run_id)
        run_one(run_id, store.home)
        table = trial_table(read_study(store.folder(run_id)))
        assert table["state"].tolist().count("interrupted") == len(cut_off)
        done = table[table["state"] == "done"]
        own = ["score", "max_depth", "min_samples_leaf"]
        return done[own].to_numpy().tolist(), store.run(run_id).settings

    # The first trial, one that is drawn at random, and one that follows the scores.
    assert trials_of(0, 4, 11) == trials_of()


def test_a_run_that_is_interrupted_after_its_search_tries_no_more(
    store, problem, monkeypatch
):
    plan = SweepPlan(SPACE, n_trials=2, scoring="validation", seed=3)
    run_id = create_sweep(store, "cart", PLAIN, problem, plan)

    def end(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sweep, "fit_learner", end)
        with pytest.raises(KeyboardInterrupt):
            run_one(run_id, store.home)
    best = store.run(run_id).settings
    store.resume(run_id)
    run_one(run_id, store.home)
    table = trial_table(read_study(store.folder(run_id)))
    assert table["state"].tolist() == ["done", "done"]
    assert store.run(run_id).settings == best


def test_an_interrupted_search_goes_on_with_the_minutes_that_are_left(store, problem):
    plan = SweepPlan(SPACE, n_trials=50, scoring="validation", minutes=10)
    run_id = create_sweep(store, "cart", PLAIN, problem, plan)
    study = open_study(store.folder(run_id))
    noon = datetime(2026, 1, 1, 12)
    params = {"max_depth": 2, "min_samples_leaf": 1}
    space = {"max_depth": IntDistribution(1, 4)}
    space["min_samples_leaf"] = CategoricalDistribution((1, 40))
    # Two processes side by side, and an hour in which nothing was tried.
    for first, last in ((0, 4), (2, 6), (70, 74.5)):
        trial = create_trial(value=0.5, params=params, distributions=space)
        trial.datetime_start = noon + timedelta(minutes=first)
        trial.datetime_complete = noon + timedelta(minutes=last)
        study.add_trial(trial)
    assert seconds_searched(study) == 10.5 * 60
    run_one(run_id, store.home)
    assert n_ended(read_study(store.folder(run_id))) == 3
    assert store.run(run_id).settings["max_depth"] == 2


def test_a_stop_trains_with_the_best_so_far(store, problem):
    plan = SweepPlan(SPACE, n_trials=50, scoring="validation")
    run_id = create_sweep(store, "cart", PLAIN, problem, plan)
    seen = []

    def stop_later(report):
        seen.append(report)
        return report.stage == "search" and report.epoch >= 3

    run_one(run_id, store.home, callbacks=[stop_later])
    run = store.run(run_id)
    assert run.state == "stopped"
    assert run.has_model
    assert len(trial_table(read_study(store.folder(run_id)))) < 6
    done = [report.total_epoch / report.max_epochs for report in seen]
    assert done == sorted(done)


@pytest.mark.slow
def test_others_help_while_it_searches_and_no_trial_is_tried_twice(store, problem):
    plan = SweepPlan(SPACE, n_trials=6, scoring="validation")
    run_id = create_sweep(store, "cart", PLAIN, problem, plan)
    assert not help_sweep(store, run_id)  # it has not begun
    helped = []

    def help_out(report):
        if store.in_stage("search") == [run_id] and len(helped) < 3:
            helped.append(help_sweep(store, run_id))

    run_one(run_id, store.home, callbacks=[help_out])
    assert helped == [True] * 3
    table = trial_table(read_study(store.folder(run_id)))
    assert table["state"].tolist() == ["done"] * 6
    assert store.run(run_id).state == "done"
    assert not help_sweep(store, run_id)


def test_who_helps_ends_with_the_search(store, problem):
    plan = SweepPlan(SPACE, n_trials=6, scoring="folds")
    run_id = create_sweep(store, "cart", PLAIN, problem, plan)
    open_study(store.folder(run_id))
    # Nobody searches: the run waits in the queue.
    assert help_sweep(store, run_id, should_abort=lambda: True)
    table = trial_table(read_study(store.folder(run_id)))
    assert table["state"].tolist() == ["interrupted"]


def test_who_helps_goes_to_a_run_that_waits(store, problem, monkeypatch):
    monkeypatch.setattr(sweep, "WAIT_SECONDS", -1.0)  # looks at each report
    monkeypatch.setitem(LEARNERS, SPEC.key, SPEC)
    plan = SweepPlan({"epochs": Values((3,))}, n_trials=2, scoring="validation")
    run_id = create_sweep(store, SPEC.key, {}, problem, plan)
    store.start(run_id, ProcessId.here())
    store.add_events(
        run_id, [Progress(0, 3, 0, 0, 0, stage="search", is_preparation=True)]
    )
    open_study(store.folder(run_id))
    assert help_sweep(store, run_id)
    store.submit(store.create("gradtree", {}, problem))
    assert help_sweep(store, run_id)
    table = trial_table(read_study(store.folder(run_id)))
    assert table["state"].tolist() == ["done", "interrupted"]


def test_as_many_are_tried_as_were_asked_for_and_the_dead_do_not_count(store, problem):
    study = open_study(store.home)
    first, second = ask_trial(study, 2), ask_trial(study, 2)
    assert ask_trial(study, 2) is None
    study.tell(first, 0.5)
    gone = str(replace(ProcessId.here(), started=0.0))
    second.set_user_attr("process", gone)
    assert ask_trial(study, 2) is None
    end_stale_trials(study)
    assert (n_ended(study), n_running(study)) == (1, 0)
    assert ask_trial(study, 2).number == 2


def test_a_trial_on_another_machine_counts_while_that_says_so(store):
    study = open_study(store.home)
    trial = ask_trial(study, 1)
    trial.set_user_attr("process", str(replace(ProcessId.here(), host="elsewhere")))
    end_stale_trials(study)
    assert n_running(study) == 1
    trial.set_user_attr("seen", time.time() - 100)
    note_seen(trial)
    end_stale_trials(study)
    assert n_running(study) == 1
    trial.set_user_attr("seen", time.time() - 100)
    end_stale_trials(study)
    assert n_running(study) == 0
    note_seen(trial)  # it has ended: no matter


@pytest.mark.slow
def test_idle_workers_help_a_sweep(tmp_path, monkeypatch):
    monkeypatch.setenv("TREELAB_SLOTS", "2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    queue = Queue(RunStore(tmp_path / "home"))
    space = {"max_leaf_nodes": Values((4, 8)), "n_steps": Values((10, 20))}
    plan = SweepPlan(space, n_trials=8, scoring="validation")
    problem = problem_in(queue.store)
    run_id = create_sweep(queue.store, "gradtree", {"n_restarts": 2}, problem, plan)
    until = time.monotonic() + 200
    try:
        while [worker.state for worker in queue.workers()] != ["idle"] * 3:
            queue.check()
            assert time.monotonic() < until
            time.sleep(0.2)
        queue.submit(run_id)
        while not queue.store.run(run_id).is_finished and time.monotonic() < until:
            queue.check()
            time.sleep(0.2)
    finally:
        queue.shut_down()
    assert queue.store.run(run_id).state == "done"
    trials = read_study(queue.store.folder(run_id)).trials
    assert [trial.state.name for trial in trials] == ["COMPLETE"] * 8
    assert len({trial.user_attrs["process"] for trial in trials}) == 2


@pytest.mark.slow
def test_a_trial_that_fails_does_not_end_the_sweep(store, problem, monkeypatch):
    from treelab.learners.cart.estimators import CartClassifier

    fit = CartClassifier.fit

    def fails_when_deep(self, *args, **kwargs):
        if self.max_depth == 4:
            raise ValueError("Too deep.")
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(CartClassifier, "fit", fails_when_deep)
    space = {"max_depth": Values((4, 2))}
    run, study = swept(store, problem, {"tune": False, "max_depth": 4}, space=space)
    table = trial_table(study)
    assert table["error"].tolist()[0] == "Too deep."
    assert run.state == "done"
    assert run.settings["max_depth"] == 2
    only = {"max_depth": Values((4,))}
    failed, _ = swept(store, problem, space=only, n_trials=2)
    assert failed.state == "failed"
    assert failed.error == "Too deep."


def test_a_sweep_ends_where_no_trial_can_have_a_score(store):
    # The median of nearly all rows is 0, which errs by nothing on the validation rows.
    frame = pd.DataFrame({"x": range(40), "y": [0.0] * 39 + [5.0]})
    problem = Problem(store.add_table(frame, "t"), "t", "y", ("x",), task="regression")
    settings = PLAIN | {"loss": "absolute_error"}
    run, study = swept(store, problem, settings, scoring="validation", n_trials=2)
    assert run.state == "failed"
    assert "no score on 8 rows that one value predicts without an error" in run.error
    assert len(study.trials) == 2


def test_trials_are_scored_on_other_groups_than_they_are_fitted_to(store):
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(40), 10)  # each has a place of its own, and a value
    place, value = random.random(40)[group], random.integers(2, size=40)[group]
    frame = pd.DataFrame({"group": group, "place": place, "y": value})
    way = {"split_by": "group", "split_column": "group", "task": "binary"}
    problem = Problem(store.add_table(frame, "t"), "t", "y", ("place",), **way)
    space = {"min_samples_leaf": Values((1,))}
    _, study = swept(store, problem, space=space, n_trials=1)
    assert study.trials[0].value < 0.8  # 1.0 by rows of the same groups


def test_a_learner_without_a_score_of_its_own_says_so(store, problem):
    run, _ = swept(store, problem, scoring="own", n_trials=1)
    assert run.state == "failed"
    assert "score trials by folds" in run.error


@pytest.mark.slow
def test_a_trial_becomes_a_run(store, problem):
    run, study = swept(store, problem, n_trials=3)
    settings = {**run.settings, **study.trials[1].params}
    own = create_trial_run(store, run, settings)
    run_one(own, store.home)
    assert store.run(own).settings == settings
    assert store.plan(own, "sweep") is None


def test_other_runs_are_trained_before_a_sweep(store, problem):
    run_id = create_sweep(store, "cart", PLAIN, problem, SweepPlan(SPACE))
    other = store.create("gradtree", {}, problem)
    for each in (run_id, other):
        store.submit(each)
    assert store.queued() == [other, run_id]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_presets_hold_what_the_learner_allows_and_keeps(learner, task):
    spec = LEARNERS[learner]
    for preset in presets(learner).values():
        own = preset.of_task(spec, task)
        check_space(spec, task, own.space)
        for name, tried in own.space.items():
            for value in tried.ends():
                given = {**own.fixed, **needed(spec, task, name), name: value}
                assert complete_settings(learner, task, given)[name] == value


def needed(spec, task, name):
    """What another setting must be for one to apply."""
    other, allowed = spec.find(task, [name])[name].needs or (None, ())
    return {other: allowed[0]} if allowed else {}


def test_a_trial_leaves_out_what_does_not_apply_to_what_else_it_drew(store, problem):
    run = store.run(store.create("gradtree", {}, problem))
    drawn = {"loss": "poly", "poly_epsilon": 5.0}
    assert trial_settings(run, drawn)["poly_epsilon"] == 5
    other = trial_settings(run, drawn | {"loss": "focal"})
    assert (other["loss"], other["poly_epsilon"]) == ("focal", 1)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_presets_are_read_as_the_page_writes_them(learner, task):
    spec = LEARNERS[learner]
    known = {setting.name: setting for setting in spec.settings_of(task)}
    for preset in presets(learner).values():
        for name, tried in preset.of_task(spec, task).space.items():
            assert parse_tried(known[name], str(tried)) == tried


def test_a_space_is_read_as_it_was_written():
    space = {"a": Range(1, 5), "b": Range(0.1, 2.0, log=True), "c": Values((None, "x"))}
    again = from_plain(to_plain(space))
    assert again == space
    plan = SweepPlan(space, n_trials=3, minutes=2.5)
    assert SweepPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("text", "tried"),
    [
        ("2..8", Range(2, 8)),
        ("2..8:log", Range(2, 8, log=True)),
        ("1,3, 9", Values((1, 3, 9))),
    ],
)
def test_what_is_tried_is_read_from_text(text, tried):
    setting = next(s for s in LEARNERS["gradtree"].settings if s.name == "max_depth")
    assert parse_tried(setting, text) == tried


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Range(3, 2), "lower number up"),
        (lambda: Range(0.0, 2.0, log=True), "above 0"),
        (lambda: Values(()), "one at least"),
        (lambda: SweepPlan(SPACE, n_trials=0), "one trial"),
        (lambda: SweepPlan(SPACE, scoring="luck"), "luck"),
        (lambda: SweepPlan(SPACE, n_folds=1), "two at least"),
        (lambda: SweepPlan(SPACE, minutes=0), "above 0"),
        (lambda: SweepPlan({}).check("cart", "binary"), "one setting"),
        (lambda: SweepPlan({"x": Values((1,))}).check("cart", "binary"), "'x'"),
        (
            lambda: SweepPlan({"max_depth": Range(0, 3)}).check("cart", "binary"),
            "max_depth",
        ),
        (
            lambda: SweepPlan({"loss": Values(("huber", "poisson"))}).check(
                "cart", "regression"
            ),
            "do not compare",
        ),
        (
            lambda: SweepPlan({"quantile": Range(0.1, 0.9)}).check("get", "regression"),
            "changes quantile",
        ),
    ],
)
def test_what_cannot_be_tried_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.slow
def test_a_regression_is_scored_by_r2(store):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90)})
    frame["y"] = frame["x"] ** 2
    table_id = store.add_table(frame, "t")
    problem = Problem(table_id, "t", "y", ("x",), task="regression")
    run, study = swept(store, problem)
    assert 0 < best_trial(study).value < 1
    assert run.state == "done"


def test_the_plan_of_a_sweep_that_trained_in_batches_is_read():
    plan = SweepPlan({"max_depth": Range(2, 8)}, 5)
    text = plan.to_json()
    stored = json.dumps({**json.loads(text), "batch": 8})
    assert SweepPlan.from_json(stored) == plan


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["folds", "validation"])
def test_trials_are_fitted_and_scored_by_weight(store, problem, scoring):
    frame = store.table(problem.table_id)
    times = 1.0 + np.arange(len(frame)) % 3
    table_id = store.add_table(frame.assign(times=times), "weighted")
    weighted = replace(problem, table_id=table_id, weight="times")
    run, study = swept(store, weighted, n_trials=2, scoring=scoring, n_folds=3)
    assert run.state == "done", run.error
    split = weighted.split(store.table(table_id))
    trial = study.trials[1]
    parts = [(split.rows("train"), split.rows("valid"))]
    if scoring == "folds":
        rows = split.rows("train+valid")
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        parts = [
            (rows.take(fit), rows.take(held_out))
            for fit, held_out in folds.split(rows.X, rows.y)
        ]
    found = []
    for fit, held_out in parts:
        tree = CartClassifier(tune=False, random_state=0, **trial.params)
        tree.fit(fit.X, fit.y, sample_weight=fit.weight)
        predicted = tree.predict(held_out.X)
        own = {"average": "macro", "sample_weight": held_out.weight}
        found.append(f1_score(held_out.y, predicted, **own))
    assert trial.value == pytest.approx(np.mean(found))
    assert store.model(run.id).weight[0] == split.rows("train").total


def test_where_errors_have_costs_a_trial_scores_by_what_it_saves(store, problem):
    asked = {"constraints": {"class_costs": {"virginica": {"versicolor": 9}}}}
    run, study = swept(store, problem, PLAIN | asked, n_trials=2, scoring="validation")
    assert run.state == "done", run.error
    split, trial = problem.split(store.table(problem.table_id)), study.trials[1]
    tree = CartClassifier(tune=False, random_state=0, **asked, **trial.params)
    tree.fit(split.X_train, split.y_train)

    def cost(predicted) -> float:
        dear = (split.y_valid == "virginica") & (predicted == "versicolor")
        return float(((predicted != split.y_valid) * (1 + 8 * dear)).mean())

    alone = min(cost(np.full(len(split.y_valid), label)) for label in tree.classes_)
    assert trial.value == pytest.approx(1 - cost(tree.predict(split.X_valid)) / alone)
    assert trial_title(run) == "cost saved"


def test_settings_matter_where_scores_differ_beyond_chance():
    """Optuna's importance gives one of settings that do nothing half of all."""
    by_chance = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        trials = pd.DataFrame(
            {
                "state": ["done"] * 40 + ["failed"],
                "rate": rng.random(41),
                "leaves": rng.integers(2, 9, 41),
                "loss": rng.choice(["focal", "poly", "none"], 41),
            }
        )
        names = ["rate", "leaves", "loss"]
        by_chance += bool(clear_settings(trials.assign(score=rng.random(41)), names))
        best_in_the_middle = -((trials["rate"] - 0.5) ** 2)
        score = best_in_the_middle + 0.02 * rng.normal(size=41)
        assert "rate" in clear_settings(trials.assign(score=score), names)
    assert by_chance <= 2
