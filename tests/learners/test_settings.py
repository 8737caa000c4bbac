"""What the docstrings say of the settings, and words that a setting refuses."""

import ast
import inspect
import re
from importlib import import_module

import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from treelab.learners.argmin.settings import CLUSTERS
from treelab.learners.cart.estimators import CartClassifier
from treelab.learners.common.settings import CLASSES, TASKS, read_settings
from treelab.learners.registry import (
    LEARNERS,
    complete_settings,
    find_spec,
    make_estimator,
)

KEYS = [*LEARNERS, CLUSTERS.key]
BOTH = [(key, task) for key in KEYS for task in TASKS]


def estimator_of(key, task):
    """The estimator class that a learner uses for a task."""
    spec = find_spec(key)
    module, name = (spec.regressor if task == "regression" else spec.classifier).split(
        ":"
    )
    return getattr(import_module(module), name)


def signature_defaults(cls):
    """Default of every parameter of an estimator."""
    parameters = inspect.signature(cls.__init__).parameters.values()
    return {p.name: p.default for p in parameters if p.name != "self"}


def documented_defaults(cls):
    """Default of every parameter by its docstring."""
    section = inspect.getdoc(cls).split("Parameters\n----------\n")[1]
    section = section.split("\n\nAttributes\n")[0]
    found = re.findall(r"^(\w+) : .*default=(.+)$", section, re.MULTILINE)
    return {name: ast.literal_eval(default) for name, default in found}


@pytest.mark.parametrize(("key", "task"), BOTH)
def test_the_docstring_names_the_default_of_every_parameter(key, task):
    cls = estimator_of(key, task)
    assert documented_defaults(cls) == signature_defaults(cls)


@pytest.mark.parametrize("key", [k for k in KEYS if k != CLUSTERS.key])
def test_a_class_weight_that_is_no_known_word_is_refused(key):
    for setting in find_spec(key).settings_of(CLASSES[0]):
        if setting.name == "class_weight":
            with pytest.raises(ValueError, match="class_weight must be"):
                setting.check("heavy")


def test_a_value_that_is_given_stays_beside_the_papers_recipe():
    given = {"recipe": "paper", "max_depth": 10}  # 10 is our default, 8 the paper's
    complete = complete_settings("gradtree", "binary", given)
    assert (complete["max_depth"], complete["n_restarts"]) == (10, 3)
    assert complete_settings("gradtree", "binary", complete) == complete
    estimator = clone(make_estimator("gradtree", "binary", complete))
    assert read_settings(estimator).max_depth == 10
    own = type(estimator)(recipe="paper")  # by hand: what is at the default is unset
    assert read_settings(own).max_depth == 8


def test_a_setting_that_does_not_apply_to_the_others_is_refused():
    alone, beside = {"uses_x": True}, {"uses_x": True, "predictor": "mlp"}
    assert complete_settings("argmin", "binary", beside)["uses_x"]
    with pytest.raises(
        ValueError, match=r"uses_x=True needs predictor='auto' or .*'leaf'"
    ):
        complete_settings("argmin", "binary", alone)


@pytest.mark.parametrize(
    ("key", "loss", "own"),
    [
        ("gradtree", "focal", {"focal_gamma": 3.0}),
        ("gradtree", "poly", {"poly_epsilon": 2.0}),
        ("grande", "focal", {"focal_gamma": 3.0}),
    ],
)
def test_what_belongs_to_one_loss_is_refused_beside_another(key, loss, own):
    assert complete_settings(key, "binary", {"loss": loss} | own)["loss"] == loss
    for other in ("cross_entropy", "brier"):
        with pytest.raises(ValueError, match=f"needs loss='{loss}', not '{other}'"):
            complete_settings(key, "binary", {"loss": other} | own)


class Pruned(CartClassifier):
    """An estimator of a user's, with fewer parameters."""

    def __init__(self, most=3):
        super().__init__(max_leaf_nodes=most, tune=False)
        self.most = most


def test_a_subclass_may_have_parameters_of_its_own():
    X, y = load_iris(return_X_y=True)
    assert clone(Pruned(most=4)).fit(X, y).tree_.n_leaves == 4


@pytest.mark.parametrize(("key", "task"), BOTH)
def test_parameters_are_given_by_keyword(key, task):
    with pytest.raises(TypeError, match="positional"):
        estimator_of(key, task)(3)
