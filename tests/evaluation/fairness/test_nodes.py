"""A rate by group at every node."""

import numpy as np
import pandas as pd

from tests.evaluation.fairness.test_rates import rows, slow_rates
from tests.evaluation.rashomon.test_gather import tree
from treelab.evaluation.fairness import rate_at_nodes


def test_each_node_has_the_rates_of_its_own_rows():
    truth, predicted, group = rows()
    X = pd.DataFrame(np.random.default_rng(0).random((len(truth), 3)), columns=[*"abc"])
    own = tree([0, 1, 2], [0.5, 0.4, 0.6])
    found = rate_at_nodes(own, X, truth, predicted, group, "true positive rate")
    passed = own.decision_path(X)
    assert sorted(found.index) == list(range(7))
    for node in found.index:
        at = passed[:, node]
        assert found.loc[node, "n_rows"] == at.sum()
        for name in ("a", "b"):
            _, _, expected, *_ = slow_rates(truth[at], predicted[at], group[at], name)
            assert np.isclose(found.loc[node, name], expected, equal_nan=True)
