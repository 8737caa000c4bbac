"""A rate by group at every node."""

import numpy as np
import pandas as pd

from tests.evaluation.fairness.test_rates import rows, slow_rates
from tests.evaluation.rashomon.test_gather import tree
from treelab.evaluation.fairness import rate_at_nodes, rate_gaps


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


def test_no_node_differs_where_groups_are_drawn_and_one_does_where_they_differ():
    own, alarms = tree([0, 1, 2], [0.5, 0.4, 0.6]), {"node": 0, "tree": 0}
    for seed in range(60):
        random = np.random.default_rng(seed)
        X = pd.DataFrame(random.random((240, 3)), columns=[*"abc"])
        truth, group = random.random(240) < 0.5, random.choice([*"uvw"], 240)
        predicted = random.random(240) < 0.5
        asked = X, truth, predicted, group, "accuracy"
        found = rate_at_nodes(own, *asked)
        alarms["tree"] += bool((found["difference from"] > 0).any())
        alone = (
            rate_gaps(truth[at], predicted[at], group[at])["accuracy"].low > 0
            for at in own.decision_path(X).T
        )
        alarms["node"] += any(alone)
        unlike = np.where(group == "u", truth, predicted)
        found = rate_at_nodes(own, *asked[:2], unlike, *asked[3:])
        assert found["difference from"].iloc[0] > 0
    assert alarms["tree"] <= 3 < alarms["node"]
