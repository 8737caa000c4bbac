import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import TargetEncoder

from tests.slow_params import slow_after
from treelab.data.encoding import TableEncoder, to_float32
from treelab.trees.feature import feature_matrix

SCALED = ["quantile", "rank", "zscore", "minmax", "none"]
NUMBER = st.one_of(
    st.just(np.nan),
    st.integers(-3, 3).map(float),
    st.floats(-1e9, 1e9),
    st.floats(-1e-9, 1e-9),
    st.floats(999_999_000, 1_000_001_000),
    st.sampled_from([0.1, 0.2, 0.3, 1e9, 1e9 + 1e-6, 1e30]),
)
WORD = st.sampled_from(["a", "b", "c", "dd", "é", None])


@st.composite
def tables(draw, min_rows=1):
    """A small table of numbers, categories and gaps, and a target."""
    n = draw(st.integers(min_rows, 30))
    column = st.lists(NUMBER, min_size=n, max_size=n)
    words = st.lists(WORD, min_size=n, max_size=n)
    frame = pd.DataFrame(
        {
            "u": np.array(draw(column)),
            "v": np.array(draw(column)),
            "whole": draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n)),
            "word": pd.Series(draw(words), dtype="str"),
            "kind": pd.Series(draw(words), dtype="str").astype("category"),
        }
    )
    task = draw(st.sampled_from(["binary", "multiclass", "regression"]))
    if task == "regression":
        y = np.array(draw(st.lists(st.floats(-1e6, 1e6), min_size=n, max_size=n)))
    else:
        last = 1 if task == "binary" else 3
        y = np.array(draw(st.lists(st.integers(0, last), min_size=n, max_size=n)))
    return frame, y, task


def left(encoder, frame, feature, threshold):
    """Side of each row at each split, as an exported tree decides, (n_rows, k)."""
    raw, missing_left = encoder.axis_splits(feature, threshold)
    values = feature_matrix(encoder.features_, frame)[:, feature]
    return np.where(np.isnan(values), missing_left, values <= raw)


@pytest.mark.slow
@pytest.mark.parametrize("numbers", slow_after(2, SCALED))
@given(table=tables(), data=st.data())
@settings(max_examples=30)
def test_an_axis_split_keeps_the_side_of_every_training_row(numbers, table, data):
    frame, y, task = table
    encoder = TableEncoder(numbers, task=task, random_state=0)
    trained = encoder.fit_transform(frame, y)
    encoded = to_float32(encoder.transform(frame))
    n_features = encoded.shape[1]
    assert trained.shape == encoded.shape == (len(frame), len(encoder.features_))
    assert np.isfinite(trained).all()
    # Thresholds that the learner may meet: its own numbers, just beside, between.
    offered = np.concatenate([encoded.ravel(), to_float32(trained).ravel()])
    offered = np.concatenate(
        [
            offered,
            np.nextafter(offered, np.float32(-np.inf)),
            np.nextafter(offered, np.float32(np.inf)),
            np.float32([-10, -0.5, 0, 0.5, 10]),
        ]
    )
    k = 40
    chosen = data.draw(st.lists(st.integers(0, 10**6), min_size=k, max_size=k))
    feature = np.array(chosen) % n_features
    threshold = offered[np.array(chosen) % len(offered)]
    expected = encoded[:, feature] <= threshold
    assert (left(encoder, frame, feature, threshold) == expected).all()


@pytest.mark.slow
@pytest.mark.parametrize("numbers", slow_after(2, SCALED))
@given(table=tables())
@settings(max_examples=40)
def test_missing_and_unseen_values_fall_as_their_encoding_does(numbers, table):
    frame, y, task = table
    encoder = TableEncoder(numbers, task=task, random_state=0)
    encoder.fit_transform(frame, y)
    odd = pd.DataFrame(
        {
            "u": [np.nan],
            "v": [np.nan],
            "whole": [np.nan],
            "word": ["never seen"],
            "kind": ["never seen"],
        }
    )
    gaps = odd.assign(word=pd.Series([None], dtype="str"), kind=[None])
    for rows in (odd, gaps):
        encoded = to_float32(encoder.transform(rows))
        feature = np.repeat(np.arange(encoded.shape[1]), 3)
        at = encoded[0, feature]
        beside = np.tile([-np.inf, 0, np.inf], encoded.shape[1]).astype(np.float32)
        threshold = np.where(beside == 0, at, np.nextafter(at, beside))
        expected = encoded[:, feature] <= threshold
        assert (left(encoder, rows, feature, threshold) == expected).all()


@pytest.mark.parametrize("numbers", ["zscore", "minmax", "none"])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_oblique_splits_and_linear_leaves_are_the_same_in_raw_units(numbers, task):
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "far": 1e6 + rng.normal(0, 3, n),
            "small": np.where(rng.random(n) < 0.2, np.nan, rng.normal(0, 1e-9, n)),
            "constant": np.full(n, 4.0),
            "empty": np.full(n, np.nan),
            "word": pd.Series(rng.choice(["a", "b", "c", None], n), dtype="str"),
        }
    )
    y = rng.integers(0, {"binary": 2, "multiclass": 3, "regression": 50}[task], n)
    encoder = TableEncoder(numbers, task=task, random_state=0)
    encoder.fit_transform(frame, y)
    encoded = encoder.transform(frame)
    weights = rng.normal(size=(7, encoded.shape[1]))
    offset = rng.normal(size=7)
    filled = feature_matrix(encoder.features_, frame)
    filled = np.where(np.isnan(filled), [f.fill for f in encoder.features_], filled)

    raw, threshold = encoder.oblique_splits(weights, offset)
    assert np.allclose(threshold - filled @ raw.T, offset - encoded @ weights.T)
    raw, bias = encoder.linear_leaves(weights, offset)
    assert np.allclose(bias + filled @ raw.T, offset + encoded @ weights.T)


def test_quantiles_refuse_weighted_sums():
    encoder = TableEncoder("quantile", task="binary")
    encoder.fit_transform(pd.DataFrame({"u": [1.0, 2.0]}), [0, 1])
    with pytest.raises(ValueError, match="zscore"):
        encoder.oblique_splits([[1.0]], [0.0])
    with pytest.raises(ValueError, match="zscore"):
        encoder.linear_leaves([[1.0]], [0.0])


def test_thresholds_move_to_the_middle_and_off_the_ends():
    frame = pd.DataFrame({"u": [1.0, 2.0, 4.0, 8.0, np.nan]})
    encoder = TableEncoder("none", task="binary")
    encoder.fit_transform(frame, [0, 1, 0, 1, 0])
    raw, missing_left = encoder.axis_splits([0, 0, 0, 0], [0.5, 1.0, 5.0, 9.0])
    # The median 3 stands for the missing value and is a neighbour like any other.
    assert raw.tolist() == [-np.inf, 1.5, 6.0, np.inf]
    assert missing_left.tolist() == [False, False, True, True]
    assert encoder.axis_splits([0], [2.5])[0] == 2.5
    assert encoder.axis_splits([0], [3.2])[0] == 3.5


def test_each_of_many_splits_is_placed_as_it_would_be_alone():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(4000, 60)).round(3))
    encoder = TableEncoder("quantile", task="binary")
    encoder.fit_transform(frame, rng.integers(0, 2, len(frame)))
    feature = rng.integers(0, 60, 1024 * 31)
    threshold = rng.normal(size=len(feature)).astype(np.float32)
    placed, missing_left = encoder.axis_splits(feature, threshold)
    for k in rng.integers(0, len(feature), 50):
        alone = encoder.axis_splits(feature[k : k + 1], threshold[k : k + 1])
        assert (placed[k], missing_left[k]) == (alone[0][0], alone[1][0])


def test_categories_get_scikit_learns_target_rates():
    rng = np.random.default_rng(0)
    word = rng.choice(["x", "y", "z"], 50, p=[0.5, 0.3, 0.2])
    y = rng.random(50) < np.where(word == "x", 0.2, 0.7)
    encoder = TableEncoder("none", task="binary", random_state=0)
    crossed = encoder.fit_transform(pd.DataFrame({"word": word}), y)
    theirs = TargetEncoder().fit(word[:, None], y)
    (feature,) = encoder.features_
    assert feature.categories == ("x", "y", "z")
    assert np.allclose(feature.scores, theirs.encodings_[0])
    assert feature.unseen == pytest.approx(y.mean())
    for level, score in zip("xyz", feature.scores):
        assert np.allclose(crossed[word == level], score, atol=0.25)
        assert len(np.unique(crossed[word == level])) > 1  # one a fold


def test_a_column_with_many_rows_a_level_is_not_cross_fitted():
    rng = np.random.default_rng(0)
    word = rng.choice(["x", "y", "z"], 500, p=[0.6, 0.3, 0.1])
    rare = rng.permutation(np.repeat(np.arange(100), 5)).astype(str)
    y = rng.random(500) < np.where(word == "x", 0.2, 0.7)
    frame = pd.DataFrame({"word": word, "rare": rare})
    encoder = TableEncoder("none", task="binary", random_state=0)
    crossed, plain = encoder.fit_transform(frame, y), encoder.transform(frame)
    assert np.array_equal(crossed[:, 0], plain[:, 0])
    assert not np.allclose(crossed[:, 1], plain[:, 1])


def test_cross_fitting_hides_a_rows_own_target():
    # Every row is a category of its own, so its rate would be its target.
    frame = pd.DataFrame({"id": [f"row {i}" for i in range(200)]})
    y = np.arange(200) % 2
    encoder = TableEncoder("none", task="binary", random_state=0)
    crossed = encoder.fit_transform(frame, y)
    assert np.allclose(crossed, 0.5)
    assert (encoder.transform(frame)[:, 0] == y).all()


def test_an_id_does_not_tell_by_its_fold_that_its_target_is_high():
    frame = pd.DataFrame({"id": [f"row {i}" for i in range(50)]})
    encoder = TableEncoder("none", task="regression", random_state=0)
    y = np.random.default_rng(0).normal(size=50)
    assert np.allclose(encoder.fit_transform(frame, y), y.mean())


def test_multiclass_gives_a_category_one_feature_a_class():
    frame = pd.DataFrame({"word": list("aabbcc") * 10, "u": np.arange(60.0)})
    y = np.array([*"xxyyzz"] * 10)
    encoder = TableEncoder("zscore", task="multiclass", random_state=0)
    assert encoder.fit_transform(frame, y).shape == (60, 4)
    assert [f.column for f in encoder.features_] == ["word", "word", "word", "u"]
    rates = np.array([f.scores for f in encoder.features_[:3]])
    assert np.allclose(rates.sum(axis=0), 1)
    assert (rates.argmax(axis=1) == [0, 1, 2]).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_levels_whose_rows_are_alike_have_one_rate_and_not_nearly_one(weighted):
    rng = np.random.default_rng(3)
    level, y = rng.integers(0, 60, 900), rng.choice(4, 900, p=[0.7, 0.2, 0.07, 0.03])
    weight = rng.uniform(0.2, 6, 900) if weighted else None
    frame = pd.DataFrame({"code": level.astype(str)})
    encoder = TableEncoder("quantile", task="multiclass", random_state=0)
    encoded = encoder.fit_transform(frame, y, sample_weight=weight)
    for c in range(4):
        without = ~np.isin(level, level[y == c])  # rows of levels that lack the class
        plain = encoder.transform(frame)[without, c]
        assert without.sum() > 10 or c == 0
        assert len(np.unique(plain)) <= 1
        np.testing.assert_array_equal(encoded[without, c], plain)


def test_missing_is_a_category_of_its_own_and_unseen_the_mean():
    word = pd.Series(["a"] * 50 + [None] * 50, dtype="str")
    y = np.repeat([0, 1], 50)
    encoder = TableEncoder("none", task="binary", random_state=0)
    encoder.fit_transform(pd.DataFrame({"word": word}), y)
    new = pd.DataFrame({"word": pd.Series(["a", None, "b"], dtype="str")})
    assert encoder.transform(new)[:, 0].tolist() == [0.0, 1.0, 0.5]


@pytest.mark.parametrize("numbers", SCALED)
def test_two_categories_can_become_one_column_of_zero_and_one(numbers):
    frame = pd.DataFrame(
        {
            "sex": ["f", "m"] * 20,
            "gap": pd.Series(["x", None] * 20, dtype="str"),
            "many": [*"abcd"] * 10,
        }
    )
    encoder = TableEncoder(numbers, task="binary", one_hot_max=2, random_state=0)
    encoded = encoder.fit_transform(frame, np.arange(40) % 2)
    assert [f.column for f in encoder.features_] == ["sex", "gap", "many"]
    assert encoder.features_[0].scores == (0.0, 1.0)
    assert encoder.features_[1].scores == (0.0,)
    assert encoder.features_[1].fill == 1.0
    assert np.allclose(encoded[:, :2], encoder.transform(frame)[:, :2])
    wide = TableEncoder(numbers, task="binary", one_hot_max=4, random_state=0)
    assert wide.fit_transform(frame, np.arange(40) % 2).shape == (40, 6)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_a_handful_of_rows_is_encoded(n, task):
    frame = pd.DataFrame({"word": list("abcabcabc")[:n], "u": np.arange(n)})
    encoder = TableEncoder(task=task, random_state=0)
    assert np.isfinite(encoder.fit_transform(frame, np.arange(n))).all()


def test_a_class_with_fewer_rows_than_folds_is_survived_without_a_warning(recwarn):
    frame = pd.DataFrame({"word": [*"abcde"] * 20})
    y = np.array([0] * 50 + [1] * 49 + [2])
    encoder = TableEncoder(task="multiclass", random_state=0)
    assert encoder.fit_transform(frame, y).shape == (100, 3)
    assert len(recwarn) == 0


@pytest.mark.slow
def test_each_of_ten_thousand_categories_gets_its_own_score():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"w": rng.integers(0, 10_000, 30_000).astype(str)})
    encoder = TableEncoder("none", task="binary", random_state=0)
    encoder.fit_transform(frame, rng.integers(0, 2, 30_000))
    (feature,) = encoder.features_
    assert set(feature.categories) == set(frame["w"])
    score = dict(zip(feature.categories, feature.scores))
    expected = frame["w"].map(score)
    assert np.allclose(encoder.transform(frame)[:, 0], expected)


def test_the_same_seed_gives_the_same_numbers():
    frame = pd.DataFrame({"word": [*"abcde"] * 10})
    y = np.random.default_rng(0).integers(0, 2, 50)
    first, second, third = (
        TableEncoder(task="binary", random_state=seed).fit_transform(frame, y)
        for seed in (1, 1, 2)
    )
    assert (first == second).all()
    assert (first != third).any()


def test_units_travel_with_the_table_into_the_features():
    frame = pd.DataFrame({"age": [1.0, 2.0], "word": ["a", "b"]})
    frame.attrs["units"] = {"age": "months"}
    encoder = TableEncoder(task="binary")
    encoder.fit_transform(frame[:], [0, 1])
    assert [f.unit for f in encoder.features_] == ["months", ""]


@pytest.mark.parametrize("odd", [np.inf, -np.inf, 1e200])
def test_infinite_values_are_refused_by_name_and_row(odd):
    frame = pd.DataFrame({"fine": [1.0, 2, 3], "odd one": [1.0, odd, 2]})
    with pytest.raises(ValueError, match=r"'odd one'.*row 2"):
        TableEncoder(task="binary").fit_transform(frame, [0, 1, 0])
    encoder = TableEncoder(task="binary")
    encoder.fit_transform(frame.assign(**{"odd one": 0.0}), [0, 1, 0])
    with pytest.raises(ValueError, match=r"'odd one'.*row 2"):
        encoder.transform(frame)


@pytest.mark.parametrize(
    ("settings", "frame", "y", "words"),
    [
        ({"numbers": "robust"}, {"a": [1]}, [0], r"numbers must be one of.*'robust'"),
        ({"task": "survival"}, {"a": [1]}, [0], r"task must be one of.*'survival'"),
        ({}, {"a": []}, [], "no rows"),
        ({}, {"a": [1, 2]}, [0], "2 rows, but the target has 1"),
        ({}, {"a": [1, 2]}, [0, None], "missing in row 1"),
        ({"task": "regression"}, {"a": [1, 2]}, [0, np.inf], "infinite value"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(settings, frame, y, words):
    encoder = TableEncoder(**{"task": "binary", **settings})
    with pytest.raises(ValueError, match=words):
        encoder.fit_transform(pd.DataFrame(frame), y)


def test_a_column_that_is_absent_or_holds_text_is_named():
    encoder = TableEncoder(task="binary")
    encoder.fit_transform(pd.DataFrame({"u": [1.0, 2.0], "w": ["a", "b"]}), [0, 1])
    with pytest.raises(ValueError, match="no column 'u'"):
        encoder.transform(pd.DataFrame({"w": ["a"]}))
    with pytest.raises(ValueError, match=r"'u'.*'many'"):
        encoder.transform(pd.DataFrame({"u": ["many"], "w": ["a"]}))


def test_nan_thresholds_are_refused():
    encoder = TableEncoder(task="binary")
    encoder.fit_transform(pd.DataFrame({"u": [1.0, 2.0]}), [0, 1])
    with pytest.raises(ValueError, match="split 1 is NaN"):
        encoder.axis_splits([0, 0], [0.0, np.nan])


def test_numbers_too_large_for_float32_are_refused():
    with pytest.raises(ValueError, match="column 1 holds 1e\\+39"):
        to_float32(np.array([[1.0, 1e39]]))


def test_columns_may_come_in_another_order():
    frame = pd.DataFrame({"u": [1.0, 2.0, 5.0], "v": [3.0, 1.0, 2.0]})
    encoder = TableEncoder("zscore", task="binary")
    encoder.fit_transform(frame, [0, 1, 0])
    assert (encoder.transform(frame) == encoder.transform(frame[["v", "u"]])).all()


@given(
    x=st.lists(st.floats(-1e9, 1e9, width=64), min_size=2, max_size=30, unique=True),
    k=st.integers(-140, 140),
    offset=st.sampled_from([0.0, 1e9]),
)
def test_a_split_of_ranks_parts_the_same_rows_in_the_column_s_unit(x, k, offset):
    column = (np.array(x) + offset) * 10.0**k
    encoder = TableEncoder("rank", task="regression")
    encoded = to_float32(encoder.fit_transform(pd.DataFrame({"a": column}), column))
    for place in range(len(np.unique(column)) - 1):
        (threshold,), _ = encoder.axis_splits([0], np.float32([place + 0.5]))
        goes_left = encoded[:, 0] <= place + 0.5
        assert (goes_left == (column <= threshold)).all()
        assert goes_left.any()
        assert not goes_left.all()


@pytest.mark.parametrize("kind", ["int64", "uint64", "Int64", "int64[pyarrow]"])
def test_whole_numbers_that_are_rounded_are_told(kind):
    ids = pd.Series([2**53 + 1, 2**53, 7, 8] * 10).astype(kind)
    frame, y = pd.DataFrame({"id": ids, "n": range(40)}), np.arange(40.0)
    with pytest.warns(UserWarning, match="'id' holds whole numbers of more than 15"):
        TableEncoder(task="regression").fit_transform(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few = frame.assign(id=ids.clip(upper=2**53 - 1).astype(kind))
        TableEncoder(task="regression").fit_transform(few, y)
