"""Every learner is a step of scikit-learn's pipelines, and a tree shows itself."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from treelab.learners.registry import LEARNERS, make_estimator

QUICK = {
    "cart": {"tune": False},
    "optimal": {"max_depth": 1, "n_thresholds": 4},
    "gradtree": {"max_leaf_nodes": 4, "n_restarts": 2, "n_steps": 10},
    "grande": {"n_estimators": 4, "depth": 2, "max_epochs": 2},
    "get": {"max_depth": 2, "n_steps": 10, "n_starts": 2},
    "argmin": {
        "depth": 2,
        "pruning_strength": (0.0, 10.0),
        "max_epochs": 5,
        "n_restarts": 2,
    },
}


def rows(n_rows=120):
    """A number with gaps, a category, and what follows from the number."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=n_rows)
    frame = pd.DataFrame({"size": size, "color": rng.choice(["red", "blue"], n_rows)})
    y = pd.Series(np.where(size > 0, "yes", "no"))
    return frame.mask(rng.random(frame.shape) < 0.05), y


def pipeline(key):
    """Scaled numbers and one-hot categories, then the learner, quickly."""
    if key == "optimal":
        pytest.importorskip("pystreed")
    before = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["size"]),
        (OneHotEncoder(sparse_output=False), ["color"]),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    learner = make_estimator(key, "binary", QUICK[key], random_state=0, device="cpu")
    return make_pipeline(before, learner)


SLOW = ("gradtree", "grande")  # each loads kernels of its own


@pytest.mark.parametrize(
    "key", [pytest.param(k, marks=[pytest.mark.slow] * (k in SLOW)) for k in LEARNERS]
)
def test_a_pipeline_around_a_learner_fits_predicts_and_is_cloned(key):
    X, y = rows()
    model = clone(pipeline(key)).fit(X, y)
    assert model.score(X, y) > 0.7
    assert model.predict_proba(X).shape == (len(X), 2)
    assert set(model[-1].tree_.columns if key != "grande" else ["size"]) <= {
        *("size", "color_blue", "color_red", "color_nan", "color_None")
    }


def test_a_pipeline_is_cross_validated():
    X, y = rows()
    assert cross_val_score(pipeline("cart"), X, y, cv=3).mean() > 0.9
