"""Who is measured: our learners at their defaults, the papers' recipes, the peers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec

import numpy as np
import pandas as pd

from benchmarks.decider_facts import decider_facts
from treelab.evaluation.ensembles import predictions_of_heaviest
from treelab.learners.common.origin import Origin
from treelab.learners.registry import LEARNERS, make_estimator
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning import SizePath

SIZES = (4, 8, 16, 32)
"""Numbers of leaves at which trees are scored beside each other."""

HEAVIEST = 10
"""Trees of an ensemble that are scored alone."""

RATE = "learning_rate"


@dataclass(frozen=True)
class Outcome:
    """What a contender found on one split.

    Attributes
    ----------
    predicted : ndarray of shape (n_test,)
    leaves : int or None
        Of a single tree.
    origin : Origin or None
        How one of our models came about.
    predicted_at : mapping of int to ndarray of shape (n_test,)
        Predictions of the best tree with at most that many leaves, for those of
        ``SIZES`` that the learner has one of.
    by_heaviest : ndarray of shape (n_test,) or None
        Predictions of each row's ``HEAVIEST`` heaviest trees alone, of an ensemble.
    facts : mapping of str to float
        What else is saved; see ``decider_facts``.
    """

    predicted: np.ndarray
    leaves: int | None = None
    origin: Origin | None = None
    predicted_at: Mapping[int, np.ndarray] = field(default_factory=dict)
    by_heaviest: np.ndarray | None = None
    facts: Mapping[str, float] = field(default_factory=dict)


FitPredict = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame, str, int], Outcome]
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
    on_request : bool, default=False
        Whether it is measured only where it is named.
    """

    name: str
    fit_predict: FitPredict
    needs: str | None = None
    install: str | None = None
    on_request: bool = False

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
        learner = make_estimator(key, task, settings, random_state=seed).fit(X, y)
        model, origin = learner.model_, getattr(learner, "origin_", None)
        if isinstance(model, WeightedTrees):
            few = min(HEAVIEST, model.n_estimators)
            return Outcome(
                learner.predict(X_test),
                model.n_leaves,
                origin,
                by_heaviest=predictions_of_heaviest(model, X_test, [few])[few],
                facts=decider_facts(model, X_test),
            )
        return Outcome(
            learner.predict(X_test),
            getattr(model, "n_leaves", None),
            origin,
            _predictions_at(getattr(learner, "path_", None), X_test),
        )

    return fit_predict


def _predictions_at(path, X_test: pd.DataFrame) -> dict[int, np.ndarray]:
    """Predictions (n_test,) of the trees of a path by size, where it is one."""
    if not isinstance(path, SizePath):  # an ensemble has none, argmin's is by strength
        return {}
    smallest = path.trees[0].n_leaves
    return {n: path.at(n).predict(X_test) for n in SIZES if n >= smallest}


def untrained(key: str, **settings) -> FitPredict:
    """Our learner with learning off: its starts and all that it does beside training.

    Learning rates are 0; what it scores less than the learner is what gradient descent
    adds.
    """
    rates = [s.name for s in LEARNERS[key].settings if s.name.startswith(RATE)]
    return treelab_learner(key, **dict.fromkeys(rates, 0.0), **settings)


def default_cart() -> FitPredict:
    """scikit-learn's greedy tree at its defaults, on target-encoded categories."""

    def fit_predict(X, y, X_test, task, seed):
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        encoded, encoded_test = encode(X, y, X_test, task, seed)
        regression = task == "regression"
        make = DecisionTreeRegressor if regression else DecisionTreeClassifier
        tree = make(random_state=seed).fit(encoded, y)
        return Outcome(tree.predict(encoded_test), int(tree.get_n_leaves()))

    return fit_predict


def random_forest() -> FitPredict:
    """scikit-learn's forest for regression at its defaults."""

    def fit_predict(X, y, X_test, task, seed):
        from sklearn.ensemble import RandomForestRegressor

        encoded, encoded_test = encode(X, y, X_test, task, seed)
        forest = RandomForestRegressor(random_state=seed).fit(encoded, y)
        return Outcome(forest.predict(encoded_test))

    return fit_predict


def random_forest_classes() -> FitPredict:
    """scikit-learn's forest for classes at its defaults."""

    def fit_predict(X, y, X_test, task, seed):
        from sklearn.ensemble import RandomForestClassifier

        encoded, encoded_test = encode(X, y, X_test, task, seed)
        forest = RandomForestClassifier(random_state=seed).fit(encoded, y)
        return Outcome(forest.predict(encoded_test))

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

        encoded, encoded_test = encode(X, y, X_test, task, seed, numbers="minmax")
        mean, deviation = y.mean(), y.std()
        torch.manual_seed(seed)
        tree = GETSubPolRegressor(**GET_OBLIQUE)
        tree.fit(encoded, (y - mean) / deviation)
        output = torch.as_tensor(tree.predict(encoded_test)).cpu().numpy().ravel()
        return Outcome(mean + deviation * output, 2 ** GET_OBLIQUE["treeDepth"])

    return fit_predict


def boosted_trees(package: str) -> FitPredict:
    """A boosted ensemble of another package at its defaults, on the same encoding."""

    def fit_predict(X, y, X_test, task, seed):
        encoded, encoded_test = encode(X, y, X_test, task, seed)
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
        return Outcome(classes[np.asarray(predicted).ravel().astype(int)])

    return fit_predict


def encode(X, y, X_test, task, seed, *, numbers="none"):
    """Categories by their cross-fitted target rate, numbers as they are or scaled."""
    from treelab.data.encoding import TableEncoder

    encoder = TableEncoder(numbers, task=task, random_state=seed)
    return encoder.fit_transform(X, y), encoder.transform(X_test)


def _ours(name: str, **settings) -> Contender:
    """Contender of one of our learners, named by its key and perhaps a word more."""
    return Contender(name, treelab_learner(name.split("-")[0], **settings))


CART = (
    Contender("cart-tuned", treelab_learner("cart")),
    Contender("cart-default", default_cart()),
)
OPTIMAL = tuple(
    Contender(
        f"optimal-{depth}",
        treelab_learner("optimal", max_depth=depth),
        needs="pystreed",
    )
    for depth in (2, 3, 4)
)
CONTENDERS = {
    "gradtree": (
        _ours("gradtree"),
        *CART,
        replace(_ours("cart-restarts", n_restarts=24), on_request=True),
        # Where nothing is learned, one step finds what 200 do.
        Contender("gradtree-untrained", untrained("gradtree", n_steps=1)),
        *OPTIMAL,
        _ours("gradtree-paper", recipe="paper"),
    ),
    "grande": (
        _ours("grande"),
        Contender("xgboost", boosted_trees("xgboost"), needs="xgboost"),
        Contender("catboost", boosted_trees("catboost"), needs="catboost"),
        *CART,
        Contender("grande-untrained", untrained("grande")),
        replace(
            _ours("grande-softmax", weighting="softmax", max_deciders=None),
            on_request=True,
        ),
        replace(_ours("grande-few", max_deciders=20), on_request=True),
        replace(
            _ours("grande-all", max_deciders=None, concentration=1.0), on_request=True
        ),
        replace(_ours("grande-random", init="random"), on_request=True),
        replace(_ours("grande-unaveraged", n_averaged=1), on_request=True),
        # The paper's ablation: one weight a tree, not one a leaf.
        replace(_ours("grande-tree-weights", leaf_weights=False), on_request=True),
        _ours("grande-paper", recipe="paper"),
    ),
    "get": (
        _ours("get"),
        _ours("get-linear", leaves="linear"),
        _ours("get-quick", n_steps=150),
        _ours("get-linear-quick", leaves="linear", n_steps=150),
        *CART,
        Contender("get-untrained", untrained("get", n_steps=1)),
        Contender("get-linear-untrained", untrained("get", n_steps=1, leaves="linear")),
        Contender("random-forest", random_forest()),
        replace(_ours("grande"), on_request=True),
        replace(_ours("grande-both", init="both"), on_request=True),
        replace(
            _ours("grande-few", init="both", max_deciders=20, concentration=2.4),
            on_request=True,
        ),
        Contender(
            "get-oblique",
            published_get(),
            needs="GET",
            install="--no-deps get-oblique h5py",
        ),
        _ours("get-paper", recipe="paper"),
        _ours("get-linear-paper", leaves="linear", recipe="paper"),
        _ours("get-paper-4", recipe="paper", trained_depth=4),
        _ours("get-linear-paper-8", leaves="linear", recipe="paper", trained_depth=8),
    ),
    "get-classes": (
        _ours("get"),
        *CART,
        _ours("get-quick", n_steps=150),
        Contender("get-untrained", untrained("get", n_steps=1)),
        _ours("get-paper", recipe="paper"),
    ),
    "argmin-classes": (
        _ours("argmin"),
        *CART,
        Contender("argmin-untrained", untrained("argmin")),
        _ours("argmin-paper", recipe="paper"),
    ),
}
