"""Encodings: what a fold's encoder may know, and which rows each fold holds out."""

import numpy as np
import pandas as pd
import pytest

from treelab.learners.common.folds import N_FOLDS, N_REPEATS
from treelab.learners.gradtree.encodings import (
    CROSS_VALIDATED_ROWS,
    cross_validation_folds,
    encode,
)


def table(n_rows=120):
    """A number, a category that tells of the classes, and the classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n_rows)
    kind = (4 * y + rng.integers(8, size=n_rows)).astype(str)
    frame = pd.DataFrame({"size": rng.normal(size=n_rows), "kind": kind})
    return frame, y


def test_an_encoder_never_sees_the_rows_held_out():
    frame, y = table()
    held_out = np.arange(len(y)) % 5 == 0
    other, other_y = frame.copy(), np.where(held_out, 1 - y, y)
    other.loc[held_out, "size"] = 1000.0
    other.loc[held_out, "kind"] = "new"
    one, two = (
        encode(X, target, held_out, task="binary", seed=0)
        for X, target in ((frame, y), (other, other_y))
    )
    np.testing.assert_array_equal(one.x[~held_out], two.x[~held_out])
    np.testing.assert_array_equal(one.seen[~held_out], two.seen[~held_out])
    again = one.encoder.transform(frame), two.encoder.transform(frame)
    np.testing.assert_array_equal(*again)


def test_rows_to_train_on_are_cross_fitted_and_rows_held_out_are_as_at_prediction():
    frame, y = table()
    held_out = np.arange(len(y)) % 5 == 0
    encoding = encode(frame, y, held_out, task="binary", seed=0)
    np.testing.assert_array_equal(encoding.x[held_out], encoding.seen[held_out])
    kind = [f.column for f in encoding.encoder.features_].index("kind")
    names, number = frame["kind"][~held_out], frame["kind"].nunique()
    as_predicted = set(zip(names, encoding.seen[~held_out, kind]))
    trained_on = set(zip(names, encoding.x[~held_out, kind]))
    assert len(as_predicted) == number  # one value a category
    assert len(trained_on) > number  # one for each fold that did not know the row


@pytest.mark.parametrize("by_class", [True, False])
def test_five_folds_hold_out_each_row_once_in_every_repeat(by_class):
    y = np.arange(103) % 3 if by_class else np.linspace(0, 1, 103)
    repeats = cross_validation_folds(y, by_class=by_class, seed=0)
    assert len(repeats) == N_REPEATS
    for folds in repeats:
        assert len(folds) == N_FOLDS
        assert (np.sum(folds, axis=0) == 1).all()
    assert not np.array_equal(repeats[0][0], repeats[1][0])


def test_a_large_table_holds_a_fifth_out_once():
    y = np.arange(CROSS_VALIDATED_ROWS + 5) % 2
    ((held_out,),) = cross_validation_folds(y, by_class=True, seed=0)
    assert held_out.mean() == pytest.approx(0.2, abs=0.01)


def test_a_tiny_table_holds_nothing_out():
    assert cross_validation_folds(np.arange(5) % 2, by_class=True, seed=0) == []
