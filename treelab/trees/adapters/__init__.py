"""Other programs' fitted trees, read into ours; those programs are never imported."""

from treelab.trees.adapters.forest import Forest
from treelab.trees.adapters.lightgbm_text import from_lightgbm
from treelab.trees.adapters.scikit_learn import from_sklearn
from treelab.trees.adapters.xgboost import from_xgboost

__all__ = ["Forest", "from_lightgbm", "from_sklearn", "from_xgboost"]
