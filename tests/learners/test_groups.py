"""Rows that belong together, which no learner may hold out of one another."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from treelab.data.encoding import TableEncoder
from treelab.data.problem import make_problem, split_problem
from treelab.learners.registry import LEARNERS, make_estimator
from treelab.runs.jobs.derived import with_interval_as
from treelab.runs.jobs.fit import fit_rows

SETTINGS = {
    "grande": {"n_estimators": 16, "max_epochs": 10},
    "get": {"n_steps": 60},
    "gradtree": {"n_restarts": 8},
}
N_GROUPS, EACH = 70, 10
TRAIN = np.repeat(np.arange(N_GROUPS) < 50, EACH)


def patients(seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Patients whose columns hardly change between visits, nor does what they have.

    So who knows other visits of a patient knows the answer, and nobody else does.
    """
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(N_GROUPS), EACH)
    X = rng.normal(size=(N_GROUPS, 3))[group] + 0.03 * rng.normal(size=(len(group), 3))
    changing = rng.normal(size=len(group))
    y = rng.normal(size=N_GROUPS)[group] + changing + 0.2 * rng.normal(size=len(group))
    return pd.DataFrame(np.c_[X, changing], columns=[*"abcd"]), y, group


@pytest.mark.parametrize(
    "learner", ["cart", *(pytest.param(n, marks=pytest.mark.slow) for n in SETTINGS)]
)
def test_what_is_said_of_new_rows_holds_for_new_groups(learner):
    X, y, group = patients(0)
    found = []
    for groups in (None, group[TRAIN]):
        settings = SETTINGS.get(learner, {})
        model = make_estimator(learner, "regression", settings, random_state=0)
        model.fit(X[TRAIN], y[TRAIN], groups=groups)
        if learner == "grande":  # it has no interval
            found.append(-np.mean((model.predict(X[~TRAIN]) - y[~TRAIN]) ** 2))
        else:
            low, high = model.predict_interval(X[~TRAIN]).T
            found.append(np.mean((low <= y[~TRAIN]) & (y[~TRAIN] <= high)))
    assert found[0] < found[1]
    if learner != "grande":
        assert found[0] < 0.72 < found[1]


@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
def test_what_a_patient_alone_has_tells_nothing_of_the_patient(task):
    _, y, group = patients(0)
    target = y if task == "regression" else pd.qcut(y, 4 - (task == "binary") * 2)
    encoder = TableEncoder("none", task=task, random_state=0)
    frame = pd.DataFrame({"patient": group.astype(str)})
    target = target if task == "regression" else target.codes
    assert np.ptp(encoder.fit_transform(frame, target, groups=group), axis=0).max() == 0


def test_a_category_that_tells_the_patient_is_not_relied_on():
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(N_GROUPS), EACH)
    X, y, _ = patients(0)
    X = X.assign(code=rng.integers(400, size=N_GROUPS)[group].astype(str))
    scores = []
    for groups in (None, group[TRAIN]):
        model = make_estimator("cart", "regression", {}, random_state=0)
        model.fit(X[TRAIN], y[TRAIN], groups=groups)
        scores.append(model.score(X[~TRAIN], y[~TRAIN]))
    assert scores[1] > scores[0] + 0.1


@pytest.mark.parametrize("learner", LEARNERS)
def test_groups_are_taken_by_every_learner_and_have_one_for_each_row(learner):
    X, y, group = patients(1)
    model = make_estimator(learner, "binary", {}, random_state=0)
    codes = (y > 0).astype(int)
    with pytest.raises(ValueError, match="groups must have a group for each"):
        model.fit(X, codes, groups=group[1:])
    with pytest.raises(ValueError, match="groups_valid are the groups of X_valid"):
        model.fit(X, codes, X_valid=X, y_valid=codes, groups=group)


def test_a_table_split_by_group_trains_with_its_groups(monkeypatch):
    X, y, group = patients(2)
    table = X.assign(y=y, patient=group)
    split = split_problem(make_problem(table, "y"), "group", "patient").split(table)
    model, given = make_estimator("cart", "regression", {}, random_state=0), {}
    original = type(model).fit

    def fit(self, X, y, groups=None, groups_valid=None, **more):
        given.update(groups=groups, groups_valid=groups_valid)
        return original(self, X, y, groups=groups, groups_valid=groups_valid, **more)

    monkeypatch.setattr(type(model), "fit", fit)
    fit_rows(model, split.rows("train"), split.rows("valid"), [], split.groups)
    for name, part in (("train", "groups"), ("valid", "groups_valid")):
        rows = split.rows(name).X.index
        np.testing.assert_array_equal(given[part], group[rows])


def test_an_edited_tree_holds_groups_out_for_its_interval():
    X, y, group = patients(0)
    table = X.assign(y=y, patient=group)
    split = split_problem(make_problem(table, "y"), "group", "patient").split(table)
    model = make_estimator("cart", "regression", {}, random_state=0)
    fit_rows(model, split.rows("train"), split.rows("valid"), [], split.groups)
    by_row, by_group = (
        with_interval_as(model.tree_, model.tree_, own).interval
        for own in (replace(split, groups=None), split)
    )
    assert (np.ptp(by_group, axis=1) > np.ptp(by_row, axis=1)).all()
