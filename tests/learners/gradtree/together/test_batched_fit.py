"""Fits of several settings that train as one batch, beside each of them alone."""

import numpy as np
import pandas as pd
import pytest
import torch

from treelab.learners.common.memo import Memo
from treelab.learners.common.objective import ClassObjective, RegressionObjective
from treelab.learners.common.target_scale import TargetScale
from treelab.learners.gradtree.annealing import Training, make_starts, plans_of, train
from treelab.learners.gradtree.encodings import encode
from treelab.learners.gradtree.estimators import GradTreeClassifier
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.together import fits
from treelab.training.events import Monitor

N_STEPS = 25
DIFFERENT = (
    {"max_leaf_nodes": 8, "learning_rate_index": 0.2, "learning_rate_leaf": 0.01},
    {"max_leaf_nodes": 8, "loss": "focal", "learning_rate_values": 0.3},
    {"max_leaf_nodes": 5, "loss": "poly", "poly_epsilon": 3.0},
)


def rows(n_rows):
    """A table of four columns, and what three of them say."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    value = frame["a"] * frame["b"] + 0.5 * frame["c"] + 0.3 * rng.normal(size=n_rows)
    return frame, value.to_numpy()


def training(task, given):
    """Starts in two folds, to be trained by some settings."""
    frame, value = rows(80)
    y = (value > 0).astype(np.int64) if task == "binary" else value
    settings = GradTreeSettings(n_steps=N_STEPS, batch_size=32, **given)
    encodings = [
        encode(frame, y, np.arange(80) % 5 == fold, task=task, seed=0)
        for fold in range(2)
    ]
    objective = RegressionObjective(TargetScale.of(value))
    values = objective.scale.standardise(value)[:, None]
    if task == "binary":
        objective = ClassObjective(
            class_weights=np.ones((2, 1)),
            loss_kind=settings.loss,
            poly_epsilon=settings.poly_epsilon,
        )
        values = np.eye(2)[y]
    starts = make_starts(
        encodings,
        y,
        values,
        plans_of(settings),
        2,
        settings,
        np.random.RandomState(0),
        [1],
    )
    generator = torch.Generator().manual_seed(7)
    monitor = Monitor(N_STEPS)
    return Training(encodings, starts, y, objective, settings, monitor, generator)


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_a_batch_trains_the_trees_that_each_of_its_settings_trains_alone(task):
    batch = [training(task, given) for given in DIFFERENT]
    assert len({own.agreement for own in batch}) == 1
    trees, _ = train(batch)
    together, thresholds = trees.hard_trees(), []
    for fit, given in enumerate(DIFFERENT):
        single = training(task, given)
        alone = train([single])[0].hard_trees()
        own = [together[e] for e in trees.trees_of(fit)]
        assert len(own) == len(alone) == len(single.starts)
        for one, other in zip(own, alone):
            np.testing.assert_array_equal(one.left, other.left)
            np.testing.assert_array_equal(one.feature, other.feature)
            np.testing.assert_allclose(one.threshold, other.threshold, atol=1e-5)
        np.testing.assert_allclose(
            batch[fit].monitor.history_frame()["train_loss"],
            single.monitor.history_frame()["train_loss"],
            rtol=1e-5,
        )
        assert torch.equal(
            batch[fit].generator.get_state(), single.generator.get_state()
        )
        thresholds.append(own[0].threshold[0])
    assert len(set(thresholds)) == 3  # the settings make a difference


def test_a_setting_of_a_batch_that_differs_in_steps_or_rows_does_not_agree():
    plain = training("binary", {})
    longer = GradTreeSettings(n_steps=N_STEPS + 1, batch_size=32)
    other = Training(**{**vars(plain), "settings": longer})
    elsewhere = Training(
        **{**vars(plain), "generator": torch.Generator().manual_seed(8)}
    )
    keys = {each.agreement for each in (plain, other, elsewhere)}
    assert len(keys) == 3


def classifier(**given):
    """A small one, which is quick to fit."""
    small = {"max_leaf_nodes": 3, "n_restarts": 1, "n_steps": 4}
    return GradTreeClassifier(**{**small, "random_state": 3, "device": "cpu"} | given)


def test_estimators_of_one_key_fit_as_one_batch_and_as_alone(monkeypatch):
    X, value = rows(40)
    given = ({"learning_rate_values": 0.5}, {"loss": "poly"}, {"n_steps": 3})
    sizes, real = [], fits.train
    monkeypatch.setattr(
        fits, "train", lambda own: (sizes.append(len(own)), real(own))[1]
    )
    together = [classifier(**each) for each in given]
    assert len({each.batch_key(40) for each in together}) == 2
    GradTreeClassifier.fit_batch(together, X, value > 0)
    assert sizes == [2, 1] * 2  # in folds, then on all rows
    for own, settings in zip(together, given):
        alone = classifier(**settings).fit(X, value > 0)
        np.testing.assert_array_equal(own.model_.feature, alone.model_.feature)
        np.testing.assert_allclose(own.model_.threshold, alone.model_.threshold)
        np.testing.assert_allclose(own.path_.scores, alone.path_.scores)


def test_what_was_prepared_for_earlier_fits_changes_nothing():
    X, value = rows(40)
    memo, own = Memo(), classifier()
    found = [
        GradTreeClassifier.cross_validated_batch([own], X, value > 0, memo=memo)[0]
        for _ in range(2)
    ]
    other = GradTreeClassifier.cross_validated_batch(
        [classifier(class_weight=None)], X, value > 0, memo=memo
    )
    assert found == [own.cross_validated(X, value > 0)] * 2
    assert other == [classifier(class_weight=None).cross_validated(X, value > 0)]


def test_the_papers_recipe_trains_alone():
    assert GradTreeClassifier(recipe="paper").batch_key(90) is None


def test_a_memo_forgets_the_first_where_it_is_full():
    memo, made = Memo(most=2), []
    for key in (1, 2, 1, 3, 1):
        memo.once(key, lambda key=key: made.append(key))
    assert made == [1, 2, 3, 1]
