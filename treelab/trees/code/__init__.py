"""A model as code that needs no treelab: Python, SQL, C, PMML, ONNX.

Each predicts as ``Tree.predict`` does on every row: thresholds, weights and
values are written so that they read back as the same float64, and weighted sums are
added up in the tree's own order. Ensembles are written as Python, C and ONNX, those
with one weight a tree as PMML, too; a sum over trees is rounded as each adds it up. A
pruning path is written as its tree, and refused where a predictor on top predicts.
"""

from collections.abc import Callable
from typing import Any

from treelab.trees.code.c import to_c
from treelab.trees.code.onnx import to_onnx
from treelab.trees.code.pmml import to_pmml
from treelab.trees.code.python import to_python
from treelab.trees.code.sql import to_sql
from treelab.trees.code.writer import fixed_weights
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree

__all__ = [
    "LANGUAGES",
    "ensemble_languages",
    "to_c",
    "to_onnx",
    "to_pmml",
    "to_python",
    "to_sql",
    "tree_languages",
]

# What each is called, the ending of its file, and what writes it.
LANGUAGES: dict[str, tuple[str, str, Callable[[Any], str]]] = {
    "python": ("Python function", "py", to_python),
    "sql": ("SQL CASE", "sql", to_sql),
    "c": ("C function", "c", to_c),
    "pmml": ("PMML", "pmml", to_pmml),
}


def tree_languages(tree: Tree) -> tuple[str, ...]:
    """Return those of ``LANGUAGES`` that hold a tree, also one of several outputs."""
    if tree.outputs:
        return ("python", "sql")
    linear = tree.leaf_weights is not None  # which PMML has no tree with
    return tuple(name for name in LANGUAGES if not (linear and name == "pmml"))


def ensemble_languages(model: WeightedTrees) -> tuple[str, ...]:
    """Return those of ``LANGUAGES`` that hold a whole ensemble."""
    return ("python", "c") + ("pmml",) * (fixed_weights(model) is not None)
