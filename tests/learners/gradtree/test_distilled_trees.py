from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

from tests.learners.gradtree.test_full_data_trees import full_data_of
from tests.learners.gradtree.test_tree_choice import batch_of
from treelab.data.encoding.table_encoder import to_float32
from treelab.learners.gradtree.distilled_trees import (
    NOTE,
    SIZES,
    BestFirstTree,
    DistilledTrees,
    distill_trees,
    reweighted,
)
from treelab.learners.gradtree.estimators import GradTreeClassifier
from treelab.learners.gradtree.soft_targets import (
    FEWEST_SYNTHETIC,
    MOST_SYNTHETIC,
    REAL,
    SYNTHETIC,
    SoftTargets,
    soft_targets,
    synthetic_rows,
)
from treelab.learners.gradtree.tree_choice import NEARLY_BEST, choose_tree


def soft_targets_of(n_rows=240, n_features=5, *, n_classes=3, seed=0, n_columns=99):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    score = x[:, 0] + x[:, 1] * x[:, 2] + 0.3 * rng.normal(size=n_rows)
    y = (
        np.digitize(score, np.linspace(-0.5, 0.5, n_classes - 1))
        if n_classes
        else score
    )
    return (
        x,
        y,
        soft_targets(
            x,
            y,
            n_classes=n_classes,
            n_columns=n_columns,
            random=np.random.RandomState(seed),
        ),
    )


def distilled_of(batch, *, depth=4):
    return distill_trees(
        batch.rows, batch.rows.target.numpy(), max_depth=depth, max_columns=99, seed=0
    )


@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_soft_targets_hold_the_rows_and_synthetic_ones(n_classes):
    x, y, soft = soft_targets_of(n_classes=n_classes)
    number = len(soft.x) - len(x)
    assert number == FEWEST_SYNTHETIC
    np.testing.assert_array_equal(soft.x[: len(x)], x)
    assert soft.weight[: len(x)].sum() == pytest.approx(REAL * number)
    assert (soft.weight[len(x) :] == 1).all()
    if n_classes:
        np.testing.assert_allclose(soft.target.sum(1), 1)
        own = soft.target[np.arange(len(x)), y]
        assert (own >= 0.5).all()  # half of it is the label
        assert own.min() < 0.75  # rows are not certain to trees that did not draw them


def test_many_rows_get_no_more_synthetic_ones_than_the_most():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 2)).astype(np.float32)
    soft = soft_targets(
        x,
        (x[:, 0] > 0).astype(int),
        n_classes=2,
        n_columns=2,
        random=np.random.RandomState(0),
    )
    assert len(soft.x) == 4000 + min(SYNTHETIC * 4000, MOST_SYNTHETIC)


def test_real_rows_are_predicted_by_trees_that_did_not_draw_them():
    """With labels of pure chance, out-of-bag answers know nothing of a row's label."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4)).astype(np.float32)
    y = rng.integers(2, size=300)
    soft = soft_targets(
        x, y, n_classes=2, n_columns=4, random=np.random.RandomState(0)
    ).target[:300]
    of_forest = 2 * soft[np.arange(300), y] - 1
    seen = RandomForestClassifier(150, random_state=0).fit(x, y).predict_proba(x)
    assert seen[np.arange(300), y].mean() > 0.7
    assert of_forest.mean() < 0.55


def test_a_class_that_the_rows_lack_has_probability_zero():
    x, y, _ = soft_targets_of(n_classes=3)
    met = y != 1
    soft = soft_targets(
        x[met], y[met], n_classes=3, n_columns=5, random=np.random.RandomState(0)
    )
    assert (soft.target[:, 1] == 0).all()


@pytest.mark.parametrize("n_features", [1, 3, 30])
def test_synthetic_rows_mix_the_values_of_each_column(n_features):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, n_features))
    made = synthetic_rows(x, 4000, np.random.RandomState(0))
    for column in range(n_features):
        assert np.isin(made[:, column], x[:, column]).all()
    if n_features == 1:
        return
    # Most columns of a row are its own.
    same = (made[:, None] == x[None]).sum(2).max(1)
    swapped = n_features - same
    assert 0.3 < swapped.mean() < 1.6
    assert (swapped == 0).any()


def test_soft_targets_name_the_columns_that_the_forest_used_most():
    _, _, soft = soft_targets_of(n_features=12, n_columns=3)
    assert soft.columns.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("n_classes", "weighted"), [(0, False), (3, False), (3, True)])
def test_each_size_is_scikit_learns_tree_of_so_many_leaves(n_classes, weighted):
    x, _, soft = soft_targets_of(n_classes=n_classes)
    class_weight = np.array([1.0, 2.0, 3.0]) if weighted else None
    weight = soft.weight * (soft.target @ class_weight if weighted else 1)
    predictions = BestFirstTree(soft, class_weight, 6, 0).predict(x)
    assert predictions.shape == (len(SIZES), len(x), max(n_classes, 1))
    for size, predicted in zip(SIZES, predictions):
        reference = DecisionTreeRegressor(
            max_leaf_nodes=size, max_depth=6, random_state=0
        ).fit(soft.x, soft.target, sample_weight=weight)
        of_soft, of_rows = reference.apply(soft.x), reference.apply(x)
        for leaf in np.unique(of_rows):
            mean = np.average(
                soft.target[of_soft == leaf],
                axis=0,
                weights=soft.weight[of_soft == leaf],
            )
            np.testing.assert_allclose(
                predicted[of_rows == leaf],
                np.broadcast_to(mean, (sum(of_rows == leaf), len(mean))),
            )


def walk(feature, threshold, row) -> int:
    """Leaf of a complete tree, by plain if and else."""
    node = 0
    while node < len(feature):
        node = 2 * node + (1 if row[feature[node]] <= threshold[node] else 2)
    return node - len(feature)


def test_laid_out_in_a_complete_tree_each_size_predicts_the_same():
    batch = batch_of(90, n_classes=3)
    x = batch.rows.x.numpy()
    trees = distilled_of(batch).batch
    for tree, predicted in enumerate(trees.refitted_predictions()):
        feature, threshold = trees.splits(tree)
        leaves = trees.refitted_values(tree, batch.rows.x)
        assert threshold.dtype == np.float32
        reached = [walk(feature, threshold, row) for row in x]
        np.testing.assert_allclose(leaves[reached], predicted.numpy())


def test_columns_that_soft_targets_leave_out_are_not_tested():
    x, _, soft = soft_targets_of(n_features=8)
    few = SoftTargets(soft.x, soft.target, soft.weight, np.array([2, 5]))
    grown = BestFirstTree(few, None, 5, 0)
    feature = grown.of_size(64).feature
    assert set(feature[feature >= 0]) == {2, 5}
    other = x.copy()
    other[:, [0, 1, 3, 4, 6, 7]] = 0
    np.testing.assert_array_equal(grown.predict(x), grown.predict(other))


def test_a_row_is_predicted_by_trees_whose_forest_did_not_see_it():
    batch = batch_of(90, n_classes=3)
    rows = replace(batch.rows, weight=torch.ones(90, 1))
    # Did a row's own label count, changing it would change its prediction.
    target = rows.target.clone()
    target[7] = (target[7] + 1) % 3
    turned = replace(rows, target=target)
    before, after = (
        distill_trees(
            some, some.target.numpy(), max_depth=4, max_columns=9, seed=0
        ).predictions
        for some in (rows, turned)
    )
    own_fold = rows.fold == rows.fold[7]
    torch.testing.assert_close(before[:, own_fold], after[:, own_fold])
    assert not torch.allclose(before[:, ~own_fold], after[:, ~own_fold])


@pytest.mark.parametrize("n_classes", [3, 4])
def test_the_largest_distilled_tree_near_the_best_is_chosen(n_classes):
    batch = batch_of(300, n_classes=n_classes)
    distilled = distilled_of(batch)
    choice = choose_tree(batch, batch.valid_loss(), None, distilled)
    assert choice.batch is distilled.batch
    score = choice.table["held_out_score"].to_numpy()[-len(SIZES) :]
    assert choice.tree == np.flatnonzero(score >= score.max() - NEARLY_BEST).max()
    assert choice.table["start"][choice.table["chosen"]].item().startswith("distilled")


def test_a_greedy_tree_that_scores_better_is_chosen_before_a_distilled_one():
    batch = batch_of(300, depths=(2, 4), n_classes=3)
    full_data, distilled = full_data_of(batch), distilled_of(batch)
    nonsense = replace(distilled, predictions=distilled.predictions.roll(150, 1))
    choice = choose_tree(batch, batch.valid_loss(), full_data, nonsense)
    assert choice.batch is full_data.batch
    assert choice.table["chosen"].sum() == 1


def quick(**settings):
    return GradTreeClassifier(
        8, n_restarts=3, max_steps=20, random_state=0, device="cpu", **settings
    )


def noisy(n_rows, seed):
    """Rows of three classes in a smooth pattern that no small tree predicts exactly."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 6))
    score = np.stack([x[:, 0] + x[:, 1], x[:, 1] * x[:, 2], x[:, 3] - x[:, 0]], 1)
    return x, (score + 0.7 * rng.normal(size=score.shape)).argmax(1)


@pytest.mark.slow
def test_a_distilled_tree_is_noted_and_is_better():
    X_test, y_test = noisy(4000, 99)
    gain = []
    for seed in range(4):
        X, y = noisy(400, seed)
        fitted, without = (
            quick(distilled_trees=wanted).fit(X, y) for wanted in (True, False)
        )
        chosen = fitted.start_.startswith("distilled from a forest")
        assert chosen or fitted.start_ == without.start_
        assert (NOTE in fitted.tree_.notes) == chosen
        assert NOTE not in without.tree_.notes
        gain.append(fitted.score(X_test, y_test) - without.score(X_test, y_test))
    assert np.mean(gain) > 0.01
    again = quick().fit(X, y)
    np.testing.assert_array_equal(again.tree_.threshold, fitted.tree_.threshold)


class Recording(GradTreeClassifier):
    """A learner that remembers what it exported last."""

    def _export(self, table, objective, batch, tree, weighting):
        self.exported = (table, batch, tree, weighting)
        return super()._export(table, objective, batch, tree, weighting)


def test_the_exported_tree_predicts_as_the_distilled_one_on_every_training_row():
    X, y = noisy(400, 0)
    frame = pd.DataFrame(X).rename(columns=str)
    frame["colour"] = np.array(["red", "green", "blue"])[np.digitize(X[:, 0], [-1, 1])]
    frame.loc[::7, "2"] = np.nan
    fitted = Recording(
        n_restarts=3, max_steps=5, merge_leaves=False, random_state=0, device="cpu"
    ).fit(frame, y)
    table, batch, chosen, weighting = fitted.exported
    assert isinstance(batch, DistilledTrees)
    assert fitted.tree_.n_leaves > 8
    encoded = to_float32(table.data.encoder.transform(frame))
    value = batch.grown.predict(encoded)[chosen]
    expected = reweighted(value, batch.rows, weighting)
    np.testing.assert_allclose(fitted.predict_proba(frame), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("y", "settings"),
    [
        (np.arange(120) % 3, {"distilled_trees": False}),
        (np.arange(120) % 2, {}),
        (np.arange(120) % 3, {"selection": "holdout"}),
    ],
)
def test_no_tree_is_distilled_where_none_is_wanted(y, settings):
    X = np.random.default_rng(0).normal(size=(120, 3)) + y[:, None]
    fitted = quick(**settings).fit(X, y)
    assert not fitted.candidates_["start"].str.startswith("distilled").any()


def test_a_fit_that_is_stopped_distils_no_more():
    X, y = load_wine(return_X_y=True)
    fitted = quick().fit(X, y, callbacks=[lambda progress: True])
    assert not fitted.candidates_["start"].str.startswith("distilled").any()


def test_distilled_trees_serve_regression_as_well():
    X, y = load_diabetes(return_X_y=True)
    y = ((y - y.mean()) / y.std()).astype(np.float32)
    batch = batch_of(len(X), n_classes=2)
    rows = replace(
        batch.rows,
        x=torch.tensor(X, dtype=torch.float32),
        target=torch.tensor(y),
        weight=torch.ones(len(y), 1),
        n_classes=0,
    )
    distilled = distill_trees(rows, y, max_depth=6, max_columns=10, seed=0)
    assert isinstance(distilled.batch, DistilledTrees)
    assert distilled.loss().min() < 0.75
