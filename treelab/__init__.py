"""treelab: decision trees that people can read and that gradient descent trains.

Names are imported on first use, so ``import treelab`` costs nothing and using a
saved model needs no torch.
"""

from importlib import import_module

_HOMES = {
    "ArgminTreeClassifier": "treelab.learners.argmin",
    "ArgminTreeClusterer": "treelab.learners.argmin_clusters",
    "ArgminTreeRegressor": "treelab.learners.argmin",
    "CartClassifier": "treelab.learners.cart",
    "CartRegressor": "treelab.learners.cart",
    "GetClassifier": "treelab.learners.get",
    "GetRegressor": "treelab.learners.get",
    "GradTreeClassifier": "treelab.learners.gradtree",
    "GradTreeRegressor": "treelab.learners.gradtree",
    "GrandeClassifier": "treelab.learners.grande",
    "GrandeRegressor": "treelab.learners.grande",
    "PruningPath": "treelab.trees.path",
    "Tree": "treelab.trees.tree",
    "WeightedTrees": "treelab.trees.ensemble",
    "from_sklearn": "treelab.trees.adapters",
    "from_xgboost": "treelab.trees.adapters",
    "load_model": "treelab.trees.io",
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
