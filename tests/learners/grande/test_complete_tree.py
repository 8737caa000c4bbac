import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from treelab.learners.grande.complete_tree import lay_out


def walk(feature, threshold, row):
    """Leaf of a complete tree that one row reaches; where nothing is split, left."""
    node = 0
    while node < len(feature):
        right = feature[node] >= 0 and row[feature[node]] > threshold[node]
        node = 2 * node + 1 + right
    return node - len(feature)


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_a_complete_tree_sends_each_row_where_the_greedy_one_does(depth):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6)).astype(np.float32)
    y = np.digitize(x[:, 0] - x[:, 3] * (x[:, 1] > 0), [-0.5, 0.5])
    greedy = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=9).fit(x, y)
    feature, threshold, leaf = lay_out(greedy.tree_, depth)
    reached = [leaf[walk(feature, threshold, row)] for row in x]
    np.testing.assert_array_equal(reached, greedy.apply(x))
