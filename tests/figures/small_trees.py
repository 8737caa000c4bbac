"""Small trees, made by hand, that the tests of the figures draw."""

import numpy as np
import pandas as pd

from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


def table(n_rows: int = 40) -> pd.DataFrame:
    """Radius 0, 1, ... n_rows - 1, and a texture that cycles from 0 to 4."""
    radius = np.arange(float(n_rows))
    return pd.DataFrame({"radius": radius, "texture": radius % 5})


def stump_and_more() -> tuple[Tree, pd.DataFrame, np.ndarray]:
    """A tree of three leaves, its rows, and their labels.

    radius <= 9.5 is "small"; else texture <= 1.5 is "rough", above it "fine".
    """
    X = table()
    tree = Tree(
        features=(Feature("radius", unit="mm"), Feature("texture")),
        left=[1, -1, 3, -1, -1],
        right=[2, -1, 4, -1, -1],
        feature=[0, -1, 1, -1, -1],
        threshold=[9.5, np.nan, 1.5, np.nan, np.nan],
        missing_left=[True, False, False, False, False],
        value=[[0.3] * 3, [1, 0, 0], [0.3] * 3, [0, 0.75, 0.25], [0, 0, 1]],
        n_rows=[0] * 5,
        impurity=[np.nan] * 5,
        classes=("small", "rough", "fine"),
        target="kind",
    )
    y = tree.predict(X).astype(object)
    return tree.with_rows(X, y), X, y


def number_tree() -> tuple[Tree, pd.DataFrame, np.ndarray]:
    """A regression stump: radius <= 19.5 says 2 kg, above it 6 kg."""
    X = table()
    tree = Tree(
        features=(Feature("radius", unit="mm"), Feature("texture")),
        left=[1, -1, -1],
        right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[19.5, np.nan, np.nan],
        missing_left=[True, False, False],
        value=[[4.0], [2.0], [6.0]],
        n_rows=[0] * 3,
        impurity=[np.nan] * 3,
        target="weight",
        target_unit="kg",
    )
    y = X["radius"].to_numpy() / 5
    return tree.with_rows(X, y), X, y


def complete_tree(depth: int, n_rows: int = 400) -> tuple[Tree, pd.DataFrame]:
    """A complete tree that halves the radius at every split, and its rows."""
    n_splits, n_leaves = 2**depth - 1, 2**depth
    threshold = np.empty(n_splits)
    for node in range(n_splits):
        level = int(np.log2(node + 1))
        place = node + 1 - 2**level
        threshold[node] = n_rows * (2 * place + 1) / 2 ** (level + 1) - 0.5
    X = table(n_rows)
    says_a = (np.arange(n_leaves) % 2).astype(float)
    tree = Tree.complete(
        (Feature("radius"), Feature("texture")),
        np.zeros(n_splits, dtype=int),
        threshold,
        np.ones(n_splits, dtype=bool),
        np.column_stack([says_a, 1 - says_a]),
        classes=("a", "b"),
    )
    return tree.with_rows(X, tree.predict(X)), X


def tree_of(depth, classes=("rough", "fine"), seed=0) -> Tree:
    """A complete tree with random splits, and rows at its nodes."""
    rng = np.random.default_rng(seed)
    features = (Feature("radius"), Feature("texture $x$ of the whole"))
    n_splits = 2**depth - 1
    tree = Tree.complete(
        features,
        rng.integers(0, 2, n_splits),
        rng.uniform(1, 9, n_splits),
        np.zeros(n_splits, bool),
        rng.dirichlet([1] * len(classes), 2**depth)
        if classes
        else rng.normal(size=(2**depth, 1)),
        classes=classes,
    )
    X = pd.DataFrame(rng.uniform(0, 10, (300, 2)), columns=[f.column for f in features])
    y = rng.choice(classes, 300) if classes else rng.normal(size=300)
    return tree.with_rows(X, y)


def oblique_tree(classes=("low", "high")):
    """radius - 4·texture <= 10; texture spreads far less than radius."""
    X = table()
    two = classes is not None
    tree = Tree(
        features=(
            Feature("radius", unit="mm", spread=11.5),
            Feature("<texture>", spread=1.4),
            Feature("idle", spread=0.0),
        ),
        left=[1, -1, -1],
        right=[2, -1, -1],
        feature=[-2, -1, -1],
        threshold=[10.0, np.nan, np.nan],
        missing_left=[False] * 3,
        value=[[0.5, 0.5], [1, 0], [0, 1]] if two else [[1.0], [0.0], [2.0]],
        n_rows=[0] * 3,
        impurity=[np.nan] * 3,
        classes=classes,
        weights=[[1.0, -4.0, 0.0], [0.0] * 3, [0.0] * 3],
    )
    X = X.rename(columns={"texture": "<texture>"}).assign(idle=1.0)
    y = tree.predict(X)
    return tree.with_rows(X, y), X, y
