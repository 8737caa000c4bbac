import pytest

from treelab.learners.grande.settings import SPEC
from treelab.learners.registry import make_estimator
from treelab.ops.decide import SOFT
from treelab.ops.losses import LOSSES


def test_every_choice_is_one_that_the_operators_know():
    choices = {
        setting.name: set(setting.choices) for setting in SPEC.settings_of("binary")
    }
    assert choices["loss"] == set(LOSSES)
    assert choices["decision"] == set(SOFT)


def test_a_run_of_an_earlier_version_trains_without_the_settings_that_went():
    stored = {"n_estimators": 8, "distillation": 0.5}
    with pytest.warns(UserWarning, match="no longer has the setting distillation"):
        fitted = make_estimator("grande", "binary", stored)
    assert fitted.n_estimators == 8
    assert not hasattr(fitted, "distillation")
