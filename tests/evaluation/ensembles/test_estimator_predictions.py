import numpy as np
import pytest

from tests.figures.small_trees import stump_and_more
from treelab.evaluation.ensembles import estimator_predictions
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c")])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_tree_predicts_alone_as_when_taken_out(classes, seed):
    rng = np.random.default_rng(seed)
    n_outputs = 1 if len(classes) == 2 else len(classes)
    ensemble = WeightedTrees(
        (Feature("radius"), Feature("texture")),
        rng.integers(2, size=(9, 3)),
        rng.uniform(0, 30, (9, 3)),
        np.ones((9, 3), dtype=bool),
        rng.normal(size=(9, 4, n_outputs)),
        rng.normal(size=(9, 4)),
        classes=classes,
    )
    row = stump_and_more()[1].iloc[[17]]
    index = np.array([8, 0, 3])
    alone = [ensemble.estimator(e).predict(row)[0] for e in index]
    assert estimator_predictions(ensemble, row, index).tolist() == alone
