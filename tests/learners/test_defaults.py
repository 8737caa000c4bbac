"""Page, command line and ``Estimator()`` train with the same settings."""

from inspect import signature

import numpy as np
import pandas as pd
import pytest

from treelab.cli.main import build_parser
from treelab.data.problem import make_problem
from treelab.learners.registry import (
    CLUSTERS,
    LEARNERS,
    complete_settings,
    make_estimator,
)
from treelab.learners.setting_text import parse_settings
from treelab.runs.jobs.clusters import clusters_problem
from treelab.runs.jobs.fit import run_estimator
from treelab.runs.store.run_store import RunStore

TASKS = ("binary", "multiclass", "regression")
EVERY = [(key, task) for key in LEARNERS for task in TASKS]
EVERY.append((CLUSTERS.key, "multiclass"))
SPECS = LEARNERS | {CLUSTERS.key: CLUSTERS}
NOT_SETTINGS = ("random_state", "device")  # the problem's seed, the run's device


def estimator_class(key, task):
    """The class of a learner's estimator for a task."""
    return type(make_estimator(key, task, {}))


def defaults_of_estimator(key, task):
    """The parameters of an estimator that was made without arguments."""
    given = estimator_class(key, task)().get_params(deep=False)
    return {name: given[name] for name in given if name not in NOT_SETTINGS}


@pytest.mark.parametrize(("key", "task"), EVERY)
def test_page_and_command_line_give_the_defaults_of_the_estimator(key, task):
    untouched = {s.name: s.default for s in SPECS[key].form_settings_of(task)}
    wanted = defaults_of_estimator(key, task)
    assert complete_settings(key, task, untouched) == wanted
    assert complete_settings(key, task, parse_settings(key, [])) == wanted
    assert complete_settings(key, task, {}) == wanted


@pytest.mark.parametrize(("key", "task"), EVERY)
def test_a_run_is_stored_and_trained_with_all_of_its_settings(key, task, tmp_path):
    rng = np.random.default_rng(0)
    target = {
        "binary": np.arange(40) % 2,
        "multiclass": np.arange(40) % 3,
        "regression": rng.normal(size=40),
    }
    table = pd.DataFrame(rng.normal(size=(40, 2)), columns=["size", "weight"])
    table["target"] = target[task]
    store = RunStore(tmp_path)
    named = {"table_id": store.add_table(table, "t"), "table_name": "t"}
    if key == CLUSTERS.key:
        problem = clusters_problem(table, **named)
    else:
        problem = make_problem(table, "target", task=task, **named)
    run = store.run(store.create(key, {}, problem))
    wanted = defaults_of_estimator(key, task)
    assert as_json(run.settings) == as_json(wanted)
    given = run_estimator(run).get_params(deep=False)
    assert as_json({name: given[name] for name in wanted}) == as_json(wanted)
    assert {*given} == {*wanted, *NOT_SETTINGS}


def as_json(settings):
    """Settings as they come back from JSON, which has no tuples."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in settings.items()
    }


@pytest.mark.parametrize(("key", "task"), EVERY)
def test_every_parameter_is_declared_with_the_default_of_the_signature(key, task):
    parameters = signature(estimator_class(key, task)).parameters
    declared = SPECS[key].defaults(task)
    assert {*declared} == {*parameters} - {*NOT_SETTINGS}
    for name, default in declared.items():
        assert parameters[name].default == default


@pytest.mark.parametrize("command", ["train", "cluster"])
def test_the_command_line_has_the_devices_and_the_seed_of_the_page(command):
    named = ["t.csv", *(["--target", "y"] if command == "train" else [])]
    arguments = build_parser().parse_args([command, *named])
    assert (arguments.device, arguments.seed, arguments.settings) == ("auto", 0, [])
