import numpy as np
import pytest
from sklearn.cluster import KMeans

from treelab.learners.argmin.starts import kmeans_splits


def test_the_first_split_parts_rows_as_kmeans_does():
    x = np.random.default_rng(0).normal(size=(80, 3)) + [[0, 0, 0], [3, 0, 0]] * 40
    weights, bias = kmeans_splits(x, 1, seed=0)
    left = x @ weights[0, 0].numpy() + bias[0, 0].item() >= 0
    label = KMeans(2, n_init=3, random_state=0).fit_predict(x)
    assert (left == label).all() or (left != label).all()


@pytest.mark.parametrize("depth", [2, 4])
def test_where_rows_run_out_the_rest_of_the_splits_have_no_weights(depth):
    x = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    weights, bias = kmeans_splits(x, depth, seed=0)
    assert weights.isfinite().all()
    assert bias.isfinite().all()
    assert (weights[0, 1:] == 0).all()
