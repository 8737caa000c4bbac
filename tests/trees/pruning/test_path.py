from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import cell_value, make_table, make_target, make_tree
from treelab.trees.predictor import NodePredictor
from treelab.trees.pruning_path import PruningPath

SEEDS = st.integers(0, 2**32 - 1)


def make_predictor(rng, tree, *, hidden=(), uses_x=False, activation="elu"):
    """A random predictor over a tree."""
    n_features = len(tree.features)
    sizes = [tree.n_nodes + uses_x * n_features, *hidden, tree.value.shape[1]]
    layers = [
        (rng.normal(size=(n_out, n_in)), rng.normal(size=n_out))
        for n_in, n_out in pairwise(sizes)
    ]
    x_mean, x_scale = rng.normal(size=(2, n_features)) if uses_x else (None, None)
    return NodePredictor(layers, activation, uses_x, x_mean, x_scale)


def make_path(rng, n_strengths=3, *, n_classes=3, on_top=True, chosen=1, **options):
    """A random path of oblique trees of one set of features."""
    first = make_tree(rng, 6, n_classes=n_classes, oblique=1.0, infinite=0)
    trees = [
        replace(
            first,
            threshold=np.where(first.is_leaf, np.nan, rng.normal(size=first.n_nodes)),
            activity=rng.random(first.n_nodes).round(1),
        )
        for _ in range(n_strengths)
    ]
    predictors = [
        make_predictor(rng, tree, **options) if on_top else None for tree in trees
    ]
    scores = pd.DataFrame({"strength": [0.0, 0.1, 1.0][:n_strengths], "note": "a"})
    return PruningPath([0.0, 0.1, 1.0][:n_strengths], trees, predictors, chosen, scores)


def slow_traversal(tree, row):
    """How far one row passes each node, number by number."""
    score, x = [1.0] * tree.n_nodes, []
    for feature in tree.features:
        cell = cell_value(feature, row[feature.column])
        x.append(feature.fill if np.isnan(cell) else cell)
    for node in sorted(range(tree.n_nodes), key=lambda node: tree.level[node]):
        if not tree.is_leaf[node]:
            margin = tree.threshold[node] - sum(
                w * v for w, v in zip(tree.weights[node], x)
            )
            score[tree.left[node]] = min(score[node], margin)
            score[tree.right[node]] = min(score[node], -margin)
    return [min(max(q, 0), a) for q, a in zip(score, tree.activity)], x


def slow_answer(predictor, z, x):
    """What a predictor says of one row, number by number."""
    values = list(z)
    if predictor.uses_x:
        values += list((np.array(x) - predictor.x_mean) / predictor.x_scale)
    for i, (weight, bias) in enumerate(predictor.layers):
        values = [
            sum(w * v for w, v in zip(row, values)) + b for row, b in zip(weight, bias)
        ]
        if i < len(predictor.layers) - 1:
            if predictor.activation == "elu":
                values = [v if v > 0 else np.exp(v) - 1 for v in values]
            else:
                values = [max(v, 0) for v in values]
    return values


@settings(max_examples=30)
@given(
    seed=SEEDS,
    n_classes=st.sampled_from([0, 2, 3]),
    hidden=st.sampled_from([(), (4,), (5, 3)]),
    uses_x=st.booleans(),
    activation=st.sampled_from(["elu", "relu"]),
)
def test_answers_are_those_of_slow_sums(seed, n_classes, hidden, uses_x, activation):
    rng = np.random.default_rng(seed)
    path = make_path(
        rng, n_classes=n_classes, hidden=hidden, uses_x=uses_x, activation=activation
    )
    table = make_table(rng, 8)
    table = table[table["job"] != "Astronaut"]  # one feature has no score for it
    for i in range(len(path)):
        rows = [slow_traversal(path.trees[i], r) for r in table.to_dict("records")]
        z = path.traversal(i, table)
        assert z.shape == (len(table), path.trees[i].n_nodes)
        np.testing.assert_allclose(z, [z for z, _ in rows], atol=1e-12)
        logits = np.array([slow_answer(path.predictors[i], *row) for row in rows])
        if n_classes:
            raised = np.exp(logits - logits.max(axis=1, keepdims=True))
            proba = raised / raised.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(path.predict_proba(table, i), proba, atol=1e-9)
            best = np.array(path.classes)[proba.argmax(axis=1)]
            assert path.predict(table, i).tolist() == best.tolist()
        else:
            np.testing.assert_allclose(
                path.predict(table, i), logits[:, 0], rtol=1e-9, atol=1e-9
            )


@settings(max_examples=20)
@given(seed=SEEDS)
def test_a_row_is_routed_where_its_traversal_is_above_zero(seed):
    rng = np.random.default_rng(seed)
    path = make_path(rng)
    path = replace(
        path, trees=[replace(t, activity=np.ones(t.n_nodes)) for t in path.trees]
    )
    table = make_table(rng, 20)
    routed = path.trees[0].decision_path(table)
    z = path.traversal(0, table)
    assert not z[~routed].any()
    assert (z[routed] > 0).all()


@pytest.mark.parametrize("n_classes", [0, 3])
def test_without_a_predictor_the_tree_answers_itself(n_classes):
    rng = np.random.default_rng(0)
    path = make_path(rng, n_classes=n_classes, on_top=False)
    table = make_table(rng, 20)
    for i, tree in enumerate(path.trees):
        assert path.predict(table, i).tolist() == tree.predict(table).tolist()
    assert path.predict(table).tolist() == path.tree.predict(table).tolist()
    assert path.tree is path.trees[1]


def test_rows_reach_every_tree():
    rng = np.random.default_rng(0)
    path = make_path(rng)
    table = make_table(rng, 30)
    shown = path.with_rows(table, make_target(rng, path.tree, 30))
    assert [tree.n_rows[0] for tree in shown.trees] == [30, 30, 30]


def test_it_has_what_every_model_has():
    path = make_path(np.random.default_rng(0), uses_x=True)
    assert path.task == "multiclass"
    assert path.classes == ("no", "yes", "perhaps")
    assert path.target == "answer"
    assert path.features == path.trees[0].features
    assert path.columns == ("width", "age", "bmi", "job")
    assert len(path) == 3
    assert "n_strengths=3" in repr(path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"strengths": [0.0, 1.0]}, "2 strengths, 3 trees"),
        ({"strengths": [0.0, 2.0, 1.0]}, "ascend"),
        ({"strengths": [0.0, np.nan, 1.0]}, "ascend"),
        ({"chosen": 3}, "from 0 to 2"),
        ({"trees": (), "predictors": (), "strengths": []}, "0 trees"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(make_path(np.random.default_rng(0)), **change)


def test_trees_of_other_features_or_targets_are_refused():
    rng = np.random.default_rng(0)
    path = make_path(rng)
    for other in (
        replace(path.trees[0], target="other"),
        replace(path.trees[0], features=make_tree(rng, 2).features),
    ):
        with pytest.raises(ValueError, match="same"):
            replace(path, trees=[*path.trees[:2], other])


@pytest.mark.parametrize(
    ("layers", "options", "sentence"),
    [
        ([], {}, "at least one layer"),
        ([(np.zeros((2, 3)), np.zeros(3))], {}, r"\(n_out, n_in\)"),
        (
            [(np.zeros((2, 3)), np.zeros(2)), (np.zeros((1, 3)), np.zeros(1))],
            {},
            "reads 3 numbers, but gets 2",
        ),
        ([(np.zeros((2, 3)), np.zeros(2))], {"activation": "tanh"}, "activation"),
        ([(np.zeros((2, 3)), np.zeros(2))], {"uses_x": True}, "x_mean"),
    ],
)
def test_layers_that_do_not_fit_are_refused(layers, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        NodePredictor(layers, **options)


def test_a_predictor_must_read_its_tree():
    rng = np.random.default_rng(0)
    path = make_path(rng)
    other = make_predictor(rng, make_tree(rng, 2))
    with pytest.raises(ValueError, match="its tree gives 11"):
        replace(path, predictors=[other] * 3)
    regression = make_predictor(rng, make_tree(rng, 6, n_classes=0))
    with pytest.raises(ValueError, match="1 outputs, expected 3"):
        replace(path, predictors=[regression] * 3)
    with pytest.raises(ValueError, match="reads 3 numbers a row, got 4"):
        make_predictor(rng, make_tree(rng, 2))(np.zeros((5, 4)))


def test_a_strength_must_be_there():
    path = make_path(np.random.default_rng(0))
    for i in (-1, 3):
        with pytest.raises(ValueError, match="strengths 0 to 2"):
            path.predict(make_table(np.random.default_rng(0), 2), i)
