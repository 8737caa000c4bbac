import numpy as np

from treelab.learners.gradtree.oversample import smote_rows


def uneven(n_rows=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3)).astype(np.float32)
    y = np.where(X[:, 0] > 1.2, 1, 0)
    y[:1] = 2  # a class of one row
    return X, y


def test_made_rows_even_the_classes_out_and_lie_between_rows_of_their_class():
    X, y = uneven()
    made, labels = smote_rows(X, y, seed=0)
    counts = np.bincount(np.concatenate([y, labels]))
    assert counts.tolist() == [counts[0], counts[0], 1]
    assert made.dtype == X.dtype
    assert set(labels) == {1}
    assert (made >= X[y == 1].min(0)).all()
    assert (made <= X[y == 1].max(0)).all()


def test_even_classes_get_no_rows():
    X, _ = uneven()
    made, labels = smote_rows(X, np.arange(len(X)) % 2, seed=0)
    assert made.shape == (0, 3)
    assert labels.shape == (0,)
