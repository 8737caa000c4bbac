import numpy as np
import pandas as pd
import pytest

from treelab.data.encoding.table_encoder import TableEncoder, to_float32
from treelab.learners.common.folds import assign_folds
from treelab.learners.grande.fold_encoding import FoldEncoder
from treelab.trees.feature import feature_matrix


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=240),
            "code": rng.choice([f"c{i}" for i in range(60)], 240),
            "few": rng.choice(["a", "b", "c"], 240),
        }
    )
    frame.loc[::17, "code"] = None
    return frame, rng.integers(2, size=240)


def encoded(frame, y, fold, task="binary"):
    shared = TableEncoder("quantile", task=task, one_hot_max=10, random_state=0)
    whole = shared.fit_transform(frame, y)
    encoder = FoldEncoder(shared, task=task, seed=0)
    return encoder, encoder.fit_transform(frame, whole, y, fold)


def test_rates_of_held_out_rows_do_not_depend_on_their_targets(table):
    frame, y = table
    fold = assign_folds(y, 3, seed=0)
    encoder, x = encoded(frame, y, fold)
    assert [f.column for f in encoder.features_].count("code") == 3
    other = np.where(fold == 1, 1 - y, y)
    again_encoder, again = encoded(frame, other, fold)
    own, again_own = encoder.columns_by_fold_, again_encoder.columns_by_fold_
    np.testing.assert_array_equal(x[:, own[1]], again[:, again_own[1]])
    assert (x[:, own[0]] != again[:, again_own[0]]).any()


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_splits_in_own_units_part_rows_as_encoded_ones_do(table, task):
    frame, y = table
    y = y if task == "binary" else y + (frame["number"] > 1).to_numpy()
    encoder, _ = encoded(frame, y, assign_folds(y, 3, seed=0), task)
    x = to_float32(encoder.transform(frame))
    rng = np.random.default_rng(1)
    feature = np.repeat(np.arange(x.shape[1]), 4)
    threshold = x[rng.integers(len(x), size=len(feature)), feature]
    raw, missing_left = encoder.axis_splits(feature, threshold)
    values = feature_matrix(encoder.features_, frame)[:, feature]
    left = np.where(np.isnan(values), missing_left, values <= raw)
    np.testing.assert_array_equal(left, x[:, feature] <= threshold)
