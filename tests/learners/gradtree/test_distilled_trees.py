from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

from tests.learners.gradtree.test_full_data_trees import whole_of
from tests.learners.gradtree.test_tree_choice import batch_of
from treelab.data.encoding.table_encoder import to_float32
from treelab.learners.gradtree.distilled_trees import (
    NOTE,
    SIZES,
    GrownTree,
    TaughtTrees,
    leaned,
    taught_trees,
)
from treelab.learners.gradtree.estimators import GradTreeClassifier
from treelab.learners.gradtree.soft_targets import (
    FEWEST_IMAGINED,
    IMAGINED,
    MOST_IMAGINED,
    REAL,
    Lesson,
    imagined,
    lesson,
)
from treelab.learners.gradtree.tree_choice import NEAR, choose_tree


def lesson_of(n_rows=240, n_features=5, *, n_classes=3, seed=0, n_columns=99):
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
        lesson(
            x,
            y,
            n_classes=n_classes,
            n_columns=n_columns,
            random=np.random.RandomState(seed),
        ),
    )


def taught_of(batch, *, depth=4):
    return taught_trees(
        batch.rows, batch.rows.truth.numpy(), depth=depth, max_columns=99, seed=0
    )


@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_a_lesson_holds_the_rows_and_imagined_ones(n_classes):
    x, y, taught = lesson_of(n_classes=n_classes)
    number = len(taught.x) - len(x)
    assert number == FEWEST_IMAGINED
    np.testing.assert_array_equal(taught.x[: len(x)], x)
    assert taught.weight[: len(x)].sum() == pytest.approx(REAL * number)
    assert (taught.weight[len(x) :] == 1).all()
    if n_classes:
        np.testing.assert_allclose(taught.told.sum(1), 1)
        own = taught.told[np.arange(len(x)), y]
        assert (own >= 0.5).all()  # half of it is the label
        assert own.min() < 0.75  # rows that trees did not draw are doubted


def test_a_lesson_on_many_rows_imagines_no_more_than_it_may():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 2)).astype(np.float32)
    taught = lesson(
        x,
        (x[:, 0] > 0).astype(int),
        n_classes=2,
        n_columns=2,
        random=np.random.RandomState(0),
    )
    assert len(taught.x) == 4000 + min(IMAGINED * 4000, MOST_IMAGINED)


def test_the_forest_tells_real_rows_by_trees_that_did_not_draw_them():
    """With labels of pure chance, out-of-bag answers know nothing of a row's label."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4)).astype(np.float32)
    y = rng.integers(2, size=300)
    taught = lesson(
        x, y, n_classes=2, n_columns=4, random=np.random.RandomState(0)
    ).told[:300]
    of_forest = 2 * taught[np.arange(300), y] - 1
    seen = RandomForestClassifier(150, random_state=0).fit(x, y).predict_proba(x)
    assert seen[np.arange(300), y].mean() > 0.7
    assert of_forest.mean() < 0.55


def test_a_class_that_the_rows_lack_gets_no_share():
    x, y, _ = lesson_of(n_classes=3)
    met = y != 1
    taught = lesson(
        x[met], y[met], n_classes=3, n_columns=5, random=np.random.RandomState(0)
    )
    assert (taught.told[:, 1] == 0).all()


@pytest.mark.parametrize("n_features", [1, 3, 30])
def test_imagined_rows_mix_the_values_of_each_column(n_features):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, n_features))
    made = imagined(x, 4000, np.random.RandomState(0))
    for column in range(n_features):
        assert np.isin(made[:, column], x[:, column]).all()
    if n_features == 1:
        return
    # A row keeps most of its columns.
    same = (made[:, None] == x[None]).sum(2).max(1)
    swapped = n_features - same
    assert 0.3 < swapped.mean() < 1.6
    assert (swapped == 0).any()


def test_a_lesson_names_the_columns_that_the_forest_used_most():
    _, _, taught = lesson_of(n_features=12, n_columns=3)
    assert taught.columns.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("n_classes", "weighted"), [(0, False), (3, False), (3, True)])
def test_each_size_is_scikit_learns_tree_of_so_many_leaves(n_classes, weighted):
    x, _, taught = lesson_of(n_classes=n_classes)
    class_weight = np.array([1.0, 2.0, 3.0]) if weighted else None
    weight = taught.weight * (taught.told @ class_weight if weighted else 1)
    answers = GrownTree(taught, class_weight, 6, 0).answers(x)
    assert answers.shape == (len(SIZES), len(x), max(n_classes, 1))
    for size, told in zip(SIZES, answers):
        reference = DecisionTreeRegressor(
            max_leaf_nodes=size, max_depth=6, random_state=0
        ).fit(taught.x, taught.told, sample_weight=weight)
        of_lesson, of_rows = reference.apply(taught.x), reference.apply(x)
        for leaf in np.unique(of_rows):
            mean = np.average(
                taught.told[of_lesson == leaf],
                axis=0,
                weights=taught.weight[of_lesson == leaf],
            )
            np.testing.assert_allclose(
                told[of_rows == leaf],
                np.broadcast_to(mean, (sum(of_rows == leaf), len(mean))),
            )


def walk(feature, threshold, row) -> int:
    """Leaf of a complete tree, by plain if and else."""
    node = 0
    while node < len(feature):
        node = 2 * node + (1 if row[feature[node]] <= threshold[node] else 2)
    return node - len(feature)


def test_laid_out_in_a_complete_tree_each_size_answers_the_same():
    batch = batch_of(90, n_classes=3)
    x = batch.rows.x.numpy()
    whole = taught_of(batch)
    for tree, told in enumerate(whole.batch.answers_fitted()):
        feature, threshold = whole.batch.splits(tree)
        leaves = whole.batch.refitted(tree, batch.rows.x)
        assert threshold.dtype == np.float32
        reached = [walk(feature, threshold, row) for row in x]
        np.testing.assert_allclose(leaves[reached], told.numpy())


def test_columns_that_a_lesson_left_out_are_not_asked():
    x, _, taught = lesson_of(n_features=8)
    few = Lesson(taught.x, taught.told, taught.weight, np.array([2, 5]))
    grown = GrownTree(few, None, 5, 0)
    asked = grown.of_size(64).feature
    assert set(asked[asked >= 0]) == {2, 5}
    other = x.copy()
    other[:, [0, 1, 3, 4, 6, 7]] = 0
    np.testing.assert_array_equal(grown.answers(x), grown.answers(other))


def test_a_row_is_judged_by_trees_whose_forest_did_not_see_it():
    batch = batch_of(90, n_classes=3)
    rows = replace(batch.rows, weight=torch.ones(90, 1))
    # Were a row's own label heard, turning it would turn what is said of it.
    truth = rows.truth.clone()
    truth[7] = (truth[7] + 1) % 3
    turned = replace(rows, truth=truth, target=truth)
    before, after = (
        taught_trees(some, some.truth.numpy(), depth=4, max_columns=9, seed=0).answers
        for some in (rows, turned)
    )
    own_fold = rows.fold == rows.fold[7]
    torch.testing.assert_close(before[:, own_fold], after[:, own_fold])
    assert not torch.allclose(before[:, ~own_fold], after[:, ~own_fold])


@pytest.mark.parametrize("n_classes", [3, 4])
def test_the_largest_taught_tree_near_the_best_is_taken(n_classes):
    batch = batch_of(300, n_classes=n_classes)
    taught = taught_of(batch)
    choice = choose_tree(batch, batch.valid_loss(), None, taught)
    assert choice.batch is taught.batch
    score = choice.table["held_out_score"].to_numpy()[-len(SIZES) :]
    assert choice.tree == np.flatnonzero(score >= score.max() - NEAR).max()
    assert choice.table["start"][choice.table["chosen"]].item().startswith("taught")


def test_a_greedy_tree_that_scores_better_is_taken_before_a_taught_one():
    batch = batch_of(300, depths=(2, 4), n_classes=3)
    whole, taught = whole_of(batch), taught_of(batch)
    nonsense = replace(taught, answers=taught.answers.roll(150, 1))
    choice = choose_tree(batch, batch.valid_loss(), whole, nonsense)
    assert choice.batch is whole.batch
    assert choice.table["chosen"].sum() == 1


def quick(**settings):
    return GradTreeClassifier(
        8, n_restarts=3, max_steps=20, random_state=0, device="cpu", **settings
    )


def noisy(n_rows, seed):
    """Rows of three classes in a smooth pattern that no small tree tells exactly."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 6))
    score = np.stack([x[:, 0] + x[:, 1], x[:, 1] * x[:, 2], x[:, 3] - x[:, 0]], 1)
    return x, (score + 0.7 * rng.normal(size=score.shape)).argmax(1)


def test_a_taught_tree_says_so_and_is_better():
    X_test, y_test = noisy(4000, 99)
    gain = []
    for seed in range(4):
        X, y = noisy(400, seed)
        fitted, untaught = (
            quick(taught_trees=wanted).fit(X, y) for wanted in (True, False)
        )
        taught = fitted.start_.startswith("taught by a forest")
        assert taught or fitted.start_ == untaught.start_
        assert (NOTE in fitted.tree_.notes) == taught
        assert NOTE not in untaught.tree_.notes
        gain.append(fitted.score(X_test, y_test) - untaught.score(X_test, y_test))
    assert np.mean(gain) > 0.01
    again = quick().fit(X, y)
    np.testing.assert_array_equal(again.tree_.threshold, fitted.tree_.threshold)


class Recording(GradTreeClassifier):
    """A learner that keeps what it exported last."""

    def _export(self, batch, chosen, weighting, data):
        self.exported = (batch, chosen, weighting, data)
        return super()._export(batch, chosen, weighting, data)


def test_the_exported_tree_says_what_was_taught_of_every_training_row():
    X, y = noisy(400, 0)
    frame = pd.DataFrame(X).rename(columns=str)
    frame["colour"] = np.array(["red", "green", "blue"])[np.digitize(X[:, 0], [-1, 1])]
    frame.loc[::7, "2"] = np.nan
    fitted = Recording(
        n_restarts=3, max_steps=5, merge_leaves=False, random_state=0, device="cpu"
    ).fit(frame, y)
    batch, chosen, weighting, data = fitted.exported
    assert isinstance(batch, TaughtTrees)
    assert fitted.tree_.n_leaves > 8
    encoded = to_float32(data.encoder.transform(frame))
    taught = leaned(batch.grown.answers(encoded)[chosen], batch.rows, weighting)
    np.testing.assert_allclose(fitted.predict_proba(frame), taught, atol=1e-9)


@pytest.mark.parametrize(
    ("y", "settings"),
    [
        (np.arange(120) % 3, {"taught_trees": False}),
        (np.arange(120) % 2, {}),
        (np.arange(120) % 3, {"selection": "holdout"}),
        (np.arange(120) % 3, {"teacher": "forest"}),
    ],
)
def test_no_tree_is_taught_where_none_is_wanted(y, settings):
    X = np.random.default_rng(0).normal(size=(120, 3)) + y[:, None]
    fitted = quick(**settings).fit(X, y)
    assert not fitted.candidates_["start"].str.startswith("taught").any()


def test_a_fit_that_is_stopped_teaches_no_more():
    X, y = load_wine(return_X_y=True)
    fitted = quick().fit(X, y, callbacks=[lambda progress: True])
    assert not fitted.candidates_["start"].str.startswith("taught").any()


def test_taught_trees_serve_regression_as_well():
    X, y = load_diabetes(return_X_y=True)
    y = ((y - y.mean()) / y.std()).astype(np.float32)
    batch = batch_of(len(X), n_classes=2)
    rows = replace(
        batch.rows,
        x=torch.tensor(X, dtype=torch.float32),
        target=torch.tensor(y),
        truth=torch.tensor(y),
        weight=torch.ones(len(y), 1),
        n_classes=0,
    )
    whole = taught_trees(rows, y, depth=6, max_columns=10, seed=0)
    assert isinstance(whole.batch, TaughtTrees)
    assert whole.loss().min() < 0.75
