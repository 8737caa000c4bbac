"""Small tables and trees for the tests of edits."""

import numpy as np
import pandas as pd

from treelab.learners.cart.estimators import CartClassifier, CartRegressor
from treelab.trees.tree import Tree


def table(seed: int = 0, n_rows: int = 160) -> pd.DataFrame:
    """Two numbers, one with holes, a category and what follows from them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows).astype(float),
            "income": rng.normal(size=n_rows).round(2),
            "job": rng.choice(["cook", "nurse", "pilot", "smith"], n_rows),
        }
    )
    score = (frame["age"] > 45) * 1.0 + frame["income"] + (frame["job"] == "nurse")
    frame["label"] = np.where(score + rng.normal(size=n_rows) / 2 > 1, "yes", "no")
    frame["value"] = score
    frame.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    return frame


COLUMNS = ["age", "income", "job"]


def fitted(frame: pd.DataFrame, target: str = "label", **settings) -> Tree:
    """A greedy tree of the table."""
    kind = CartRegressor if target == "value" else CartClassifier
    settings = {"tune": False, "max_leaf_nodes": 6, "random_state": 0} | settings
    return kind(**settings).fit(frame[COLUMNS], frame[target]).tree_
