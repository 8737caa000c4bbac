"""What learners share that grow one tree at once."""

import numpy as np
import pandas as pd
import pytest

from treelab.learners.common.tuned_tree import with_node_means
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


@pytest.mark.parametrize("seed", range(3))
def test_each_node_predicts_the_weighted_mean_of_the_rows_that_pass(seed):
    rng = np.random.default_rng(seed)
    tree = Tree.complete(
        (Feature("a"), Feature("b")),
        rng.integers(2, size=7),
        rng.normal(size=7),
        np.ones(7, bool),
        np.full((8, 2), 0.9),
        classes=("no", "yes"),
    )
    X = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    values, weights = rng.random((40, 2)), rng.random(40)
    refitted = with_node_means(tree, tree.apply(X), values, weights)
    for node, passed in enumerate(tree.decision_path(X).T):
        mean = tree.value[node]  # as it was where no row passes
        if passed.any():
            mean = np.average(values[passed], axis=0, weights=weights[passed])
        assert refitted.value[node] == pytest.approx(mean)
