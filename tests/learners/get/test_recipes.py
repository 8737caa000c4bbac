"""What the tree says of its origin, its sizes and its curve; the paper's recipe."""

import numpy as np
import pytest
import torch

from tests.learners.get.tables import wavy_rows
from treelab.learners.get.estimators import GetClassifier, GetRegressor
from treelab.learners.get.fit import subtree_splits
from treelab.learners.get.network import GetNetwork
from treelab.learners.get.settings import SPEC, GetSettings
from treelab.learners.get.starts import initial_splits
from treelab.learners.get.trees import HardTrees

QUICK = {"max_depth": 3, "n_starts": 4, "n_steps": 150, "random_state": 0}
PAPER = {"recipe": "paper", "max_depth": 2, "n_starts": 3, "n_steps": 30}


@pytest.fixture(scope="module")
def table():
    rows = wavy_rows(300, 0)
    return rows.x, rows.y


@pytest.mark.slow
@pytest.mark.parametrize("leaves", ["constant", "linear"])
def test_with_learning_off_the_tree_equals_its_start_and_says_so(table, leaves):
    off = {"learning_rate": 0.0, "learning_rate_leaves": 0.0, "leaves": leaves}
    model = GetRegressor(**off, **QUICK).fit(*table)
    assert not model.origin_.trained
    assert model.origin_.n_changed == 0
    assert "not trained by gradient descent" in model.tree_.notes[0]


@pytest.mark.parametrize("leaves", ["constant", "linear"])
def test_training_changes_splits_and_the_tree_counts_them(table, leaves):
    model = GetRegressor(leaves=leaves, **QUICK).fit(*table)
    origin = model.origin_
    assert origin.trained
    assert origin.n_splits == model.tree_.n_splits
    assert 0 < origin.n_changed <= origin.n_splits
    assert origin.start in ("random", "greedy")
    assert model.tree_.notes[0] == str(origin)


@pytest.mark.slow
def test_the_path_holds_the_tree_and_scores_each_size(table):
    model = GetRegressor(**QUICK).fit(*table)
    assert model.path_.tree is model.tree_
    leaves = [tree.n_leaves for tree in model.path_.trees]
    assert leaves == sorted(set(leaves))
    assert len(leaves) > 3
    assert model.path_.scores["score"].max() > 0.3
    small = GetRegressor(max_leaf_nodes=3, **QUICK).fit(*table)
    assert small.tree_.n_leaves <= 3


@pytest.mark.slow
def test_the_curve_begins_at_the_start_that_is_retained(table):
    reports = []
    model = GetRegressor(**QUICK).fit(*table, callbacks=[reports.append])
    assert model.history_["epoch"].iloc[0] == 0
    stages = [*dict.fromkeys(model.history_["stage"])]
    assert stages == ["stage 1 of 2", "stage 2 of 2"]
    retained = [report.retained for report in reports if report.retained]
    losses = model.history_["valid_loss"].tolist()
    assert retained[-1].history["valid_loss"].tolist() == losses
    start, end = retained[-1].snapshots
    assert (start, end) == (0, model.history_["epoch"].max())
    assert retained[-1].snapshots[start]().n_splits >= 1


@pytest.mark.slow
def test_so_many_pairs_of_scale_factors_so_many_stages(table):
    model = GetRegressor(scale_factors=(5.0, 20.0, 30.0, 60.0, 90.0, 150.0), **QUICK)
    stages = set(model.fit(*table).history_["stage"])
    assert {"stage 1 of 3", "stage 3 of 3"} <= stages


@pytest.mark.parametrize(
    ("n_classes", "kind"),
    [(0, "constant"), (0, "linear"), (2, "constant"), (3, "constant")],
)
def test_the_loss_is_the_sum_over_leaves(n_classes, kind):
    rows = wavy_rows(40, 0, n_classes, linear=kind == "linear")
    rng = np.random.default_rng(0)
    (weights, threshold), _ = initial_splits(rows, 2, rng, 1, "random")
    trees = HardTrees.fit(weights[None], threshold[None], rows)
    network = GetNetwork(trees, np.array([7.0]), rows, rows, GetSettings())
    soft = 1 / (1 + np.exp(-7.0 * (threshold[:, None] - weights @ rows.x.T)))  # (N, n)
    expected = np.zeros(40)
    for leaf in range(4):
        first, second = leaf // 2, 1 + leaf // 2
        reach = soft[0] if first == 0 else 1 - soft[0]
        reach = reach * (soft[second] if leaf % 2 == 0 else 1 - soft[second])
        if kind == "linear":
            model = trees.models[0, leaf]
            said = model[0] + rows.x @ model[1:]
        else:
            said = trees.constants[0, leaf]
        of_columns = (rows.target - np.reshape(said, (-1, rows.target.shape[1]))) ** 2
        loss = of_columns.sum(1)
        expected += reach * loss
    found = float(network.batch_loss(torch.arange(40)).detach()[0])
    assert found == pytest.approx(expected.mean(), rel=1e-4)


@pytest.mark.parametrize("leaves", ["constant", "linear"])
def test_the_papers_recipe_trains_all_levels_and_holds_nothing_out(table, leaves):
    model = GetRegressor(leaves=leaves, random_state=0, **PAPER).fit(*table)
    assert model.score(*table) > 0.2
    assert model.tree_.n_leaves <= 4
    assert model.origin_.held_out == ""
    assert "pruning" not in model.origin_.later
    assert ("polish" in model.origin_.later) == (leaves == "constant")
    assert model.path_.tree is model.tree_
    assert model.path_.scores["score"].isna().all()


@pytest.mark.slow
def test_the_paper_tunes_the_depth_where_none_is_given(table):
    given = PAPER | {"max_depth": "auto", "n_steps": 2, "n_starts": 2}
    model = GetRegressor(leaves="linear", random_state=0, **given).fit(*table)
    assert "for the depth alone" in model.origin_.held_out
    assert np.isfinite(model.predict(table[0])).all()


@pytest.mark.slow
def test_the_paper_recipe_for_classes(table):
    X, y = table
    model = GetClassifier(random_state=0, **PAPER).fit(X, y > 0)
    assert model.score(X, y > 0) > 0.6


def test_the_papers_settings_are_listed():
    assert SPEC.paper_settings["learning_rate"] == 0.01


@pytest.mark.parametrize("depth", [1, 3, 4])
def test_the_subtrees_of_a_level_hold_every_split_below_it_once(depth):
    for level in range(depth):
        roots = range(2**level - 1, 2 ** (level + 1) - 1)
        subtrees = [subtree_splits(root, depth - level).tolist() for root in roots]
        assert sorted(np.concatenate(subtrees).tolist()) == [
            *range(2**level - 1, 2**depth - 1)
        ]
        for subtree in subtrees:
            for i, split in enumerate(subtree):
                children = [s for s in (2 * split + 1, 2 * split + 2) if s in subtree]
                assert children == subtree[2 * i + 1 : 2 * i + 3]


def test_a_table_too_small_to_hold_rows_out_does_not_say_that_any_were():
    X = np.arange(9.0)[:, None]
    assert GetClassifier(**QUICK).fit(X, X[:, 0] > 4).origin_.held_out == ""
