"""Random trees and tables for these tests, and the slow, obvious way to read them."""

from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.trees.feature import Feature
from treelab.trees.tree import Tree

CATEGORIES = ("Sales", "Tech", "Craft", "Farming", "Office")


def make_features(rng) -> tuple[Feature, ...]:
    """Two numbers of few decimals, one of many, and two features of one category."""
    return (
        Feature("width", unit="cm", fill=0.1),
        Feature("age", fill=-0.2),
        Feature("bmi", fill=0.05),
        *(
            Feature(
                "job",
                "category",
                fill=0.2,
                categories=CATEGORIES,
                scores=rng.normal(size=len(CATEGORIES)).round(2),
                unseen=unseen,
            )
            for unseen in (0.0, np.nan)
        ),
    )


def make_table(rng, n_rows: int, missing: float = 0.1) -> pd.DataFrame:
    """A table with all of that, missing values and a category nobody saw."""
    table = pd.DataFrame(
        {
            "width": rng.normal(size=n_rows).round(1),
            "age": rng.normal(size=n_rows).round(2),
            "bmi": rng.normal(size=n_rows),
            "job": rng.choice([*CATEGORIES, "Astronaut"], size=n_rows).astype(object),
        }
    )
    return table.mask(rng.random(table.shape) < missing)


def make_tree(
    rng,
    n_leaves: int = 8,
    *,
    n_classes: int = 3,
    oblique: float = 0.0,
    linear: bool = False,
    infinite: float = 0.05,
) -> Tree:
    """A random tree of any shape; ``n_classes`` 0 makes it a regression."""
    features = make_features(rng)
    left, right, leaves = [-1], [-1], [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(rng.integers(len(leaves)))
        for side in (left, right):
            side[node] = len(left)
            leaves.append(len(left))
            left.append(-1)
            right.append(-1)
    left, right = np.array(left), np.array(right)
    n, split = len(left), left >= 0
    feature = rng.integers(len(features), size=n)
    feature[rng.random(n) < oblique] = -2
    threshold = rng.normal(size=n).round(3)
    threshold = np.where(
        rng.random(n) < infinite, rng.choice([-np.inf, np.inf], n), threshold
    )
    weights = rng.normal(size=(n, len(features))) * (
        rng.random((n, len(features))) < 0.5
    )
    if n_classes:
        value = rng.dirichlet(np.ones(n_classes), size=n)
        classes = ("no", "yes", "perhaps", "never")[:n_classes]
    else:
        value, classes = rng.normal(size=(n, 1)), None
    tree = Tree(
        features=features,
        left=left,
        right=right,
        feature=np.where(split, feature, -1),
        threshold=np.where(split, threshold, np.nan),
        missing_left=rng.random(n) < 0.5,
        value=value,
        n_rows=np.zeros(n),
        impurity=np.full(n, np.nan),
        classes=classes,
        target="answer",
        weights=weights if oblique else None,
    )
    if not linear:
        return tree
    return replace(
        tree,
        leaf_weights=weights * tree.is_leaf[:, None],
        leaf_bias=rng.normal(size=(n, 1)),
    )


def make_target(rng, tree: Tree, n_rows: int) -> np.ndarray:
    """Random labels, or values, for this tree."""
    if tree.classes is None:
        return rng.normal(size=n_rows)
    return np.array(tree.classes)[rng.integers(len(tree.classes), size=n_rows)]


def cell_value(feature: Feature, cell) -> float:
    """The number a feature reads from one cell."""
    if cell is None or cell != cell:
        return np.nan
    if feature.kind == "number":
        return float(cell)
    scores = dict(zip(feature.categories, feature.scores))
    return scores.get(str(cell), feature.unseen)


def walk(tree: Tree, row: dict) -> int:
    """The leaf that one row reaches, by plain if and else."""
    node = 0
    while tree.left[node] >= 0:
        j = tree.feature[node]
        if j == -2:
            total = 0.0
            for k, feature in enumerate(tree.features):
                if tree.weights[node, k] != 0:
                    x = cell_value(feature, row[feature.column])
                    x = feature.fill if x != x else x
                    total += tree.weights[node, k] * x
            left = total <= tree.threshold[node]
        else:
            x = cell_value(tree.features[j], row[tree.features[j].column])
            left = tree.missing_left[node] if x != x else x <= tree.threshold[node]
        node = int(tree.left[node] if left else tree.right[node])
    return node


def walk_all(tree: Tree, table: pd.DataFrame) -> list[int]:
    """The leaf of every row, one by one."""
    return [walk(tree, row) for row in table.to_dict("records")]


def from_sklearn(estimator, columns, classes=None) -> Tree:
    """A fitted scikit-learn tree as a Tree."""
    grown = estimator.tree_
    return Tree(
        features=[Feature(column) for column in columns],
        left=grown.children_left,
        right=grown.children_right,
        feature=np.where(grown.children_left < 0, -1, grown.feature),
        threshold=np.where(grown.children_left < 0, np.nan, grown.threshold),
        missing_left=grown.missing_go_to_left.astype(bool),
        value=grown.value[:, 0, :],
        n_rows=grown.n_node_samples,
        impurity=grown.impurity,
        classes=classes,
    )


def same_arrays(first: Tree, second: Tree) -> bool:
    """Whether two models hold the same, to the last bit."""
    for name in first.array_types:
        one, other = getattr(first, name), getattr(second, name)
        if (one is None) != (other is None):
            return False
        if one is not None and (
            one.dtype != other.dtype
            or one.shape != other.shape
            or one.tobytes() != other.tobytes()
        ):
            return False
    return (first.classes, first.target, repr(first.features), first.notes) == (
        second.classes,
        second.target,
        repr(second.features),
        second.notes,
    )


def shrunk_by_hand(tree: Tree, node: int) -> np.ndarray:
    """Probabilities of a node whose parent counts for ``tree.shrinkage`` rows."""
    counts = tree.class_counts[node]
    if node == 0:
        return counts / counts.sum()
    above = shrunk_by_hand(tree, tree.parent[node])
    return (counts + tree.shrinkage * above) / (counts.sum() + tree.shrinkage)
