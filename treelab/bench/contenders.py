"""Who is measured: our learners at their defaults, the papers' recipes, the peers."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pandas as pd

# What the greedy tree is tuned over, by 3-fold cross-validation on macro F1 or R2.
CART_GRID = {
    "max_depth": [2, 3, 4, 6, 8, 10, None],
    "min_samples_leaf": [1, 5, 20],
}

Predictions = tuple[np.ndarray, int | None]
"""Predictions (n_test,) of a contender, and its leaves where it is a single tree."""

FitPredict = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame, str, int], Predictions]
"""A contender: called with ``X``, ``y``, ``X_test``, the task and a seed."""


@dataclass(frozen=True)
class Contender:
    """A name in the table of results, and what is measured under it.

    Attributes
    ----------
    name : str
    fit_predict : FitPredict
        Fits a new model and predicts the test rows.
    needs : str, optional
        Module that must be installed.
    install : str, optional
        What pip is asked for where the module has another name.
    """

    name: str
    fit_predict: FitPredict
    needs: str | None = None
    install: str | None = None

    @property
    def is_missing(self) -> bool:
        """Whether a package that it needs is not installed."""
        return self.needs is not None and find_spec(self.needs) is None

    @property
    def install_command(self) -> str:
        """How to install what it needs."""
        return f"pip install {self.install or self.needs}"


def treelab_learner(key: str, **settings) -> FitPredict:
    """Our learner, by its key in the registry; settings not given are the defaults."""

    def fit_predict(X, y, X_test, task, seed):
        from treelab.learners.registry import make_estimator

        learner = make_estimator(key, task, settings, random_state=seed).fit(X, y)
        leaves = getattr(learner.model_, "n_leaves", None)
        return learner.predict(X_test), leaves

    return fit_predict


def cart(*, tuned: bool) -> FitPredict:
    """scikit-learn's greedy tree on target-encoded categories.

    ``tuned`` chooses its size from `CART_GRID` by 3-fold cross-validation.
    """

    def fit_predict(X, y, X_test, task, seed):
        from sklearn.model_selection import GridSearchCV
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        encoded, encoded_test = _encode(X, y, X_test, task, seed)
        if task == "regression":
            tree, scoring = DecisionTreeRegressor(random_state=seed), "r2"
        else:
            tree, scoring = DecisionTreeClassifier(random_state=seed), "f1_macro"
        if tuned:
            search = GridSearchCV(tree, CART_GRID, scoring=scoring, cv=3)
            tree = search.fit(encoded, y).best_estimator_
        else:
            tree.fit(encoded, y)
        return tree.predict(encoded_test), int(tree.get_n_leaves())

    return fit_predict


def random_forest() -> FitPredict:
    """scikit-learn's forest for regression at its defaults."""

    def fit_predict(X, y, X_test, task, seed):
        from sklearn.ensemble import RandomForestRegressor

        encoded, encoded_test = _encode(X, y, X_test, task, seed)
        forest = RandomForestRegressor(random_state=seed).fit(encoded, y)
        return forest.predict(encoded_test), None

    return fit_predict


# A tree of the published program takes minutes at its defaults; this is a tenth.
GET_OBLIQUE = {"treeDepth": 4, "epochNum": 1000, "startNum": 2}


def published_get() -> FitPredict:
    """The paper's own program, PyPI's ``get-oblique``, on small settings.

    It pins old versions of what it needs, so it is installed by
    ``pip install --no-deps get-oblique h5py``.
    """

    def fit_predict(X, y, X_test, task, seed):
        import torch
        from GET import GETSubPolRegressor

        encoded, encoded_test = _encode(X, y, X_test, task, seed, numbers="minmax")
        mean, deviation = y.mean(), y.std()
        torch.manual_seed(seed)
        tree = GETSubPolRegressor(**GET_OBLIQUE)
        tree.fit(encoded, (y - mean) / deviation)
        output = torch.as_tensor(tree.predict(encoded_test)).cpu().numpy().ravel()
        return mean + deviation * output, 2 ** GET_OBLIQUE["treeDepth"]

    return fit_predict


def boosted_trees(package: str) -> FitPredict:
    """A boosted ensemble of another package at its defaults, on the same encoding."""

    def fit_predict(X, y, X_test, task, seed):
        encoded, encoded_test = _encode(X, y, X_test, task, seed)
        classes, codes = np.unique(y, return_inverse=True)
        if package == "xgboost":
            from xgboost import XGBClassifier

            model = XGBClassifier(random_state=seed)
        else:
            from catboost import CatBoostClassifier

            model = CatBoostClassifier(
                random_seed=seed, verbose=False, allow_writing_files=False
            )
        predicted = model.fit(encoded, codes).predict(encoded_test)
        return classes[np.asarray(predicted).ravel().astype(int)], None

    return fit_predict


def _encode(X, y, X_test, task, seed, *, numbers="none"):
    """Categories by their cross-fitted target rate, numbers as they are or scaled."""
    from treelab.data.encoding.table_encoder import TableEncoder

    encoder = TableEncoder(numbers, task=task, random_state=seed)
    return encoder.fit_transform(X, y), encoder.transform(X_test)


# After the papers' recipes, the rates and sizes ours: one tree chosen on one validation
# set, constant learning rates.
GRADTREE_PAPER = {
    "max_depth": 10,
    "search_depth": False,
    "n_restarts": 3,
    "greedy_starts": False,
    "merge_leaves": False,
    "selection": "holdout",
    "learning_rate_index": 0.01,
    "learning_rate_values": 0.01,
    "learning_rate_leaf": 0.01,
    "max_epochs": 1000,
    "max_steps": 100_000,
    "patience": 50,
    "batch_size": 512,
    "class_weight": "balanced",
}
GRANDE_PAPER = {
    "n_estimators": 1024,
    "init": "random",
    "n_folds": 1,
    "max_epochs": 1000,
    "max_steps": 100_000,
    "patience": 25,
    "batch_size": 64,
    "cosine_decay": False,
    "learning_rate_index": 0.01,
    "learning_rate_values": 0.01,
    "learning_rate_leaf": 0.01,
    "learning_rate_weights": 0.005,
    "class_weight": None,
}

CONTENDERS = {
    "gradtree": (
        Contender("gradtree", treelab_learner("gradtree")),
        Contender("cart-tuned", cart(tuned=True)),
        Contender("cart-default", cart(tuned=False)),
        Contender("gradtree-paper", treelab_learner("gradtree", **GRADTREE_PAPER)),
    ),
    "grande": (
        Contender("grande", treelab_learner("grande")),
        Contender("xgboost", boosted_trees("xgboost"), needs="xgboost"),
        Contender("catboost", boosted_trees("catboost"), needs="catboost"),
        Contender("cart-default", cart(tuned=False)),
        Contender("grande-paper", treelab_learner("grande", **GRANDE_PAPER)),
    ),
    "get": (
        Contender("get", treelab_learner("get")),
        Contender("get-linear", treelab_learner("get", leaves="linear")),
        Contender("get-quick", treelab_learner("get", budget="quick")),
        Contender(
            "get-linear-quick", treelab_learner("get", leaves="linear", budget="quick")
        ),
        Contender("cart-tuned", cart(tuned=True)),
        Contender("random-forest", random_forest()),
        Contender(
            "get-oblique",
            published_get(),
            needs="GET",
            install="--no-deps get-oblique h5py",
        ),
    ),
    "get-classes": (
        Contender("get", treelab_learner("get")),
        Contender("cart-default", cart(tuned=False)),
        Contender("cart-tuned", cart(tuned=True)),
        Contender("get-quick", treelab_learner("get", budget="quick")),
    ),
}
