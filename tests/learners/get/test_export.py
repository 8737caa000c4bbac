import numpy as np
import pytest

from tests.learners.get.test_estimators import mixed_table
from treelab import GetClassifier, GetRegressor
from treelab.data.builtin import BUILTIN
from treelab.data.encoding import TableEncoder
from treelab.learners.common.target import TargetScale
from treelab.learners.get import estimators as get
from treelab.learners.get.trees import HardTrees, Rows, to_tree

REST = [
    pytest.param(key, marks=pytest.mark.slow)
    for key in sorted({*BUILTIN} - {"diabetes", "mixed"})
]


def random_trees(depth, n_features, rng):
    """Splits of one tree: dense, of one column with either sign, and of none."""
    weights = rng.normal(size=(1, 2**depth - 1, n_features))
    single = rng.random(2**depth - 1) < 0.4
    one = np.eye(n_features)[rng.integers(n_features, size=2**depth - 1)]
    weights[0, single] = (one * rng.choice([-2.0, 3.0], (2**depth - 1, 1)))[single]
    weights[0, rng.random(2**depth - 1) < 0.1] = 0.0
    return weights, rng.normal(size=(1, 2**depth - 1)) * 0.5


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_tree_predicts_as_the_trained_arrays_on_every_training_row(linear, seed):
    frame, y = mixed_table(400, seed)
    rng = np.random.default_rng(seed)
    encoder = TableEncoder("minmax", task="regression", random_state=0)
    encoder.fit_transform(frame, y)
    x = encoder.transform(frame)
    rows = Rows(x, (y - 5.0) / 2.0, np.ones(len(y)), 0, linear)
    splits = random_trees(1 + seed % 5, x.shape[1], rng)
    trees = HardTrees.fit(*splits, rows)
    before = trees.predict(x)
    scale = TargetScale(5.0, 2.0)
    tree = to_tree(trees, encoder, frame, y, classes=None, scale=scale)
    assert np.allclose(tree.predict(frame), before[0, :, 0] * 2 + 5, atol=1e-6)
    assert (tree.n_rows > 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_are_the_same_in_the_users_table(seed):
    frame, y = mixed_table(400, seed)
    labels = np.where(y > 1, "high", np.where(y > 0, "middle", "low"))
    classes, codes = np.unique(labels, return_inverse=True)
    encoder = TableEncoder("minmax", task="multiclass", random_state=0)
    encoder.fit_transform(frame, labels)
    x = encoder.transform(frame)
    rows = Rows(x, codes, np.ones(len(y)), 3)
    splits = random_trees(4, x.shape[1], np.random.default_rng(seed))
    trees = HardTrees.fit(*splits, rows)
    tree = to_tree(trees, encoder, frame, labels, classes=tuple(classes.tolist()))
    assert np.allclose(tree.predict_proba(frame), trees.predict(x)[0], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("leaves", ["constant", "linear"])
@pytest.mark.parametrize("key", ["diabetes", "mixed", *REST])
def test_on_every_built_in_table_the_tree_predicts_as_the_trained_arrays_did(
    key, leaves, monkeypatch
):
    table = BUILTIN[key]
    is_number = table.task == "regression"
    if leaves == "linear" and not is_number:
        leaves, depth = "constant", 6  # linear leaves are for numbers: go deeper
    else:
        depth = 3
    frame = table.load().dropna(subset=[table.target]).iloc[::2]
    y = frame.pop(table.target)
    trained = []

    def record(trees, encoder, frame, y, **how):
        tree = to_tree(trees, encoder, frame, y, **how)
        trained.append((tree, trees, encoder.transform(frame), frame, how["scale"]))
        return tree

    monkeypatch.setattr(get, "to_tree", record)
    settings = {"max_depth": depth, "n_starts": 2, "n_steps": 6, "random_state": 0}
    settings |= {"n_steps": 150, "device": "cpu"}
    if is_number:
        model = GetRegressor(leaves=leaves, **settings).fit(frame, y)
    else:
        model = GetClassifier(**settings).fit(frame, y)
    (_, trees, x, rows, scale), *_ = (
        one
        for one in trained
        if one[0].notes == model.tree_.notes[1:]
        and one[0].n_rows.tolist() == model.tree_.n_rows.tolist()
        and np.array_equal(one[0].threshold, model.tree_.threshold, equal_nan=True)
    )
    predicted = trees.predict(x)[0]  # (n, C)
    if is_number:
        values = scale.restore(predicted[:, 0])
        assert np.allclose(model.tree_.predict(rows), values, rtol=1e-6)
    else:
        # Its probabilities are shrunk; its classes are the trained ones.
        chosen = model.tree_.predicted_class[model.tree_.apply(rows)]
        assert (chosen == predicted.argmax(axis=1)).all()


def test_the_leading_column_of_a_split_counts_one():
    frame, y = mixed_table(200)
    encoder = TableEncoder("minmax", task="regression", random_state=0)
    x = encoder.fit_transform(frame, y)
    rows = Rows(x, y, np.ones(len(y)), 0)
    weights = np.array([[[-3.0, 1.0, 0.5, 0.0, 0.0]]])
    trees = HardTrees.fit(weights, np.array([[-1.0]]), rows)
    tree = to_tree(trees, encoder, frame, y, classes=None)
    assert tree.weights[0, 0] == 1.0
    assert (tree.weights[0] != 0).sum() == 3
