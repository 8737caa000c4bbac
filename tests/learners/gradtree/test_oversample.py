import numpy as np
import pytest

from treelab.learners.gradtree.estimators import GradTreeClassifier
from treelab.learners.gradtree.oversample import smote_rows

QUICK = {"max_depth": 4, "n_restarts": 3, "max_steps": 60, "random_state": 0}


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


def test_a_tree_learns_from_made_rows_but_counts_the_real_ones():
    X, y = uneven(400)
    fitted = GradTreeClassifier(**QUICK, smote=True).fit(X, y)
    assert fitted.selection_ == "holdout"
    assert fitted.tree_.n_rows[0] < len(X)  # those not held out, none of them made
    assert (fitted.predict(X[y == 1]) == 1).mean() > 0.9


def test_made_rows_are_refused_in_cross_validation():
    X, y = uneven()
    with pytest.raises(ValueError, match="smote=True"):
        GradTreeClassifier(**QUICK, smote=True, selection="cv").fit(X, y)


def test_averaged_checkpoints_are_never_worse_on_validation():
    X, y = uneven(300)
    y[:1] = 0
    plain = GradTreeClassifier(**QUICK).fit(X, y).candidates_["valid_loss"]
    mean = GradTreeClassifier(**QUICK, averaged_checkpoints=4).fit(X, y)
    assert (mean.candidates_["valid_loss"] <= plain + 1e-6).all()
