"""Who is measured: our learners at their defaults, the papers' recipes, the peers."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

# What the greedy tree is tuned over, by 3-fold cross-validation on macro F1.
CART_GRID = {
    "max_depth": [2, 3, 4, 6, 8, 10, None],
    "min_samples_leaf": [1, 5, 20],
}


@dataclass(frozen=True)
class Contender:
    """A name in the table of results and how it predicts.

    ``predict(X, y, X_test, task, seed)`` returns predictions for ``X_test`` and the
    number of leaves (None for an ensemble). ``needs`` is a module that must be
    there, ``install`` what pip is asked for where that has another name.
    """

    name: str
    predict: Callable[..., tuple[np.ndarray, int | None]]
    needs: str | None = None
    install: str | None = None

    def missing(self) -> bool:
        """Whether a package that it needs is not installed."""
        return self.needs is not None and find_spec(self.needs) is None

    def how(self) -> str:
        """How to install what it needs."""
        return f"pip install {self.install or self.needs}"


def ours(key: str, **settings):
    """Our learner, by its key in the registry."""

    def predict(X, y, X_test, task, seed):
        from treelab.learners.registry import make_estimator

        learner = make_estimator(key, task, settings, random_state=seed).fit(X, y)
        leaves = getattr(learner.model_, "n_leaves", None)
        return learner.predict(X_test), leaves

    return predict


def cart(*, tuned: bool):
    """scikit-learn's greedy tree on target-encoded categories."""

    def predict(X, y, X_test, task, seed):
        from sklearn.model_selection import GridSearchCV
        from sklearn.tree import DecisionTreeClassifier

        encoded, encoded_test = _encoded(X, y, X_test, task, seed)
        tree = DecisionTreeClassifier(random_state=seed)
        if tuned:
            search = GridSearchCV(tree, CART_GRID, scoring="f1_macro", cv=3)
            tree = search.fit(encoded, y).best_estimator_
        else:
            tree.fit(encoded, y)
        return tree.predict(encoded_test), int(tree.get_n_leaves())

    return predict


def cart_regression():
    """scikit-learn's greedy tree, its size tuned by 3-fold cross-validation."""

    def predict(X, y, X_test, task, seed):
        from sklearn.model_selection import GridSearchCV
        from sklearn.tree import DecisionTreeRegressor

        encoded, encoded_test = _encoded(X, y, X_test, task, seed)
        tree = DecisionTreeRegressor(random_state=seed)
        search = GridSearchCV(tree, CART_GRID, scoring="r2", cv=3)
        tree = search.fit(encoded, y).best_estimator_
        return tree.predict(encoded_test), int(tree.get_n_leaves())

    return predict


def random_forest():
    """scikit-learn's forest for regression at its defaults."""

    def predict(X, y, X_test, task, seed):
        from sklearn.ensemble import RandomForestRegressor

        encoded, encoded_test = _encoded(X, y, X_test, task, seed)
        forest = RandomForestRegressor(random_state=seed).fit(encoded, y)
        return forest.predict(encoded_test), None

    return predict


# A tree of the published program takes minutes at its defaults; this is a tenth.
GET_OBLIQUE = {"treeDepth": 4, "epochNum": 1000, "startNum": 2}


def published_get():
    """The paper's own program, PyPI's ``get-oblique``, on small settings.

    It pins old versions of what it needs, so it is installed by
    ``pip install --no-deps get-oblique h5py``.
    """

    def predict(X, y, X_test, task, seed):
        import torch
        from GET import GETSubPolRegressor

        encoded, encoded_test = _encoded(X, y, X_test, task, seed, numbers="minmax")
        mean, std = y.mean(), y.std()
        torch.manual_seed(seed)
        tree = GETSubPolRegressor(**GET_OBLIQUE)
        tree.fit(encoded, (y - mean) / std)
        predicted = torch.as_tensor(tree.predict(encoded_test)).cpu().numpy().ravel()
        return mean + std * predicted, 2 ** GET_OBLIQUE["treeDepth"]

    return predict


def boosted(package: str):
    """A boosted ensemble at its defaults, on the same encoding."""

    def predict(X, y, X_test, task, seed):
        encoded, encoded_test = _encoded(X, y, X_test, task, seed)
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

    return predict


def _encoded(X, y, X_test, task, seed, *, numbers="none"):
    """Categories by their cross-fitted target rate, numbers as they are or scaled."""
    from treelab.data.encoding.table_encoder import TableEncoder

    encoder = TableEncoder(numbers, task=task, random_state=seed)
    return encoder.fit_transform(X, y), encoder.transform(X_test)


# After the papers' recipes, the rates and sizes ours: one tree chosen on one validation
# set, constant learning rates.
GRADTREE_PAPER = {
    "depth": 10,
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
        Contender("gradtree", ours("gradtree")),
        Contender("cart-tuned", cart(tuned=True)),
        Contender("cart-default", cart(tuned=False)),
        Contender("gradtree-paper", ours("gradtree", **GRADTREE_PAPER)),
    ),
    "grande": (
        Contender("grande", ours("grande")),
        Contender("xgboost", boosted("xgboost"), needs="xgboost"),
        Contender("catboost", boosted("catboost"), needs="catboost"),
        Contender("cart-default", cart(tuned=False)),
        Contender("grande-paper", ours("grande", **GRANDE_PAPER)),
    ),
    "get": (
        Contender("get", ours("get")),
        Contender("get-linear", ours("get", leaves="linear")),
        Contender("get-quick", ours("get", budget="quick")),
        Contender("get-linear-quick", ours("get", leaves="linear", budget="quick")),
        Contender("cart-tuned", cart_regression()),
        Contender("random-forest", random_forest()),
        Contender(
            "get-oblique",
            published_get(),
            needs="GET",
            install="--no-deps get-oblique h5py",
        ),
    ),
    "get-classes": (
        Contender("get", ours("get")),
        Contender("cart-default", cart(tuned=False)),
        Contender("cart-tuned", cart(tuned=True)),
        Contender("get-quick", ours("get", budget="quick")),
    ),
}
