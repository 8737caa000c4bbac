"""The setting ``constraints``, and how an estimator reads it."""

from typing import Any

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind
from treelab.learners.common.spec import setting
from treelab.trees.constraints import Constraints


def constraints_setting() -> Any:
    """Declare the setting of a learner that keeps constraints."""
    return setting(
        None,
        "What must hold on every possible row: monotone columns, columns by level or "
        "together, their number and cost, rows a leaf, costs of errors.",
        kind="constraints",
        values="Constraints, dict or None",
    )


def constraints_of(estimator, frame: pd.DataFrame) -> Constraints:
    """Read an estimator's constraints and check them against its training table.

    Raises
    ------
    ValueError
        For a column or class that is not there, or costs beside class weights.
    """
    constraints = Constraints.read(estimator.constraints)
    if not constraints:
        return constraints
    columns = [str(name) for name in frame.columns]
    categories = [c for c in columns if column_kind(frame[c]) == "category"]
    constraints.check_columns(columns, categories)
    constraints.check_classes(estimator.labels())
    weight = getattr(estimator, "class_weight", None)
    if constraints.class_costs and weight not in ("auto", None):
        raise ValueError(
            "class_costs and class_weight both weigh the classes; set one of them, "
            f"not class_weight={weight!r} as well."
        )
    return constraints


def growing_weights(costs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weight of each class (C,) while splits are chosen, mean 1 over the rows ``y``.

    A class weighs what its errors cost in sum. Source: Breiman et al., "Classification
    and Regression Trees", 1984, section 4.4, altered priors.
    """
    weights = costs.sum(axis=1)
    return weights / max(weights[y].mean(), 1e-300)
