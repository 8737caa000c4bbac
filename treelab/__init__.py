"""treelab: decision trees that people can read and that gradient descent trains.

Names are imported on first use, so ``import treelab`` costs nothing and using a
saved model needs no torch.
"""

from importlib import import_module

_HOMES = {
    "ArgminTreeClassifier": "treelab.learners.argmin.estimators",
    "ArgminTreeClusterer": "treelab.learners.argmin.clustering",
    "ArgminTreeRegressor": "treelab.learners.argmin.estimators",
    "CartClassifier": "treelab.learners.cart.estimators",
    "CartRegressor": "treelab.learners.cart.estimators",
    "GetClassifier": "treelab.learners.get.estimators",
    "GetRegressor": "treelab.learners.get.estimators",
    "GradTreeClassifier": "treelab.learners.gradtree.estimators",
    "GradTreeRegressor": "treelab.learners.gradtree.estimators",
    "GrandeClassifier": "treelab.learners.grande.estimators",
    "GrandeRegressor": "treelab.learners.grande.estimators",
    "OptimalTreeClassifier": "treelab.learners.optimal.estimators",
    "OptimalTreeRegressor": "treelab.learners.optimal.estimators",
    "PruningPath": "treelab.trees.pruning_path",
    "Tree": "treelab.trees.tree",
    "WeightedTrees": "treelab.trees.ensemble",
    "compare": "treelab.figures.comparison",
    "frontier": "treelab.figures.comparison",
    "from_lightgbm": "treelab.trees.adapters",
    "from_sklearn": "treelab.trees.adapters",
    "from_xgboost": "treelab.trees.adapters",
    "load": "treelab.trees.io",
    "notebook_html": "treelab.figures.viewer.page",
    "surrogate": "treelab.learners.surrogate",
    "to_c": "treelab.trees.code",
    "to_dot": "treelab.trees.dot",
    "to_onnx": "treelab.trees.code",
    "to_pmml": "treelab.trees.code",
    "to_python": "treelab.trees.code",
    "to_rules": "treelab.trees.text",
    "to_sql": "treelab.trees.code",
    "to_text": "treelab.trees.text",
}

__version__ = "0.1.0"
__all__ = sorted(_HOMES)


def __getattr__(name):
    """Import a public name from its home when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'treelab' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__():
    """List the public names beside the module's own."""
    return sorted({*globals(), *__all__})
