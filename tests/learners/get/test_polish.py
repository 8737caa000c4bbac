import numpy as np
import pytest

from tests.learners.get.tables import wavy_rows
from treelab.learners.get.polish import polish_level, subtree_splits
from treelab.learners.get.prune import prune_by_validation
from treelab.learners.get.settings import GetSettings
from treelab.learners.get.starts import greedy_splits, random_splits
from treelab.learners.get.trees import HardTrees


def tree_of(rows, depth, seed, *, linear, greedy):
    rng = np.random.default_rng(seed)
    if greedy:
        splits = greedy_splits(rows, depth, rng)
    else:
        splits = random_splits(rows.x, depth, rng)
    return HardTrees.fit(*(part[None] for part in splits), rows, linear=linear)


@pytest.mark.parametrize("depth", [1, 3, 4])
def test_the_subtrees_of_a_level_hold_every_split_below_it_once(depth):
    for level in range(depth):
        splits = subtree_splits(depth, level)
        assert splits.shape == (2**level, 2 ** (depth - level) - 1)
        assert sorted(splits.ravel()) == list(range(2**level - 1, 2**depth - 1))
        for subtree in splits.tolist():
            for i, split in enumerate(subtree):
                children = [s for s in (2 * split + 1, 2 * split + 2) if s in subtree]
                assert children == subtree[2 * i + 1 : 2 * i + 3]


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize(
    ("n_classes", "linear"), [(0, False), (0, True), (2, False), (3, False)]
)
def test_polish_never_raises_the_hard_training_loss(n_classes, linear, greedy):
    for seed in range(2):
        rows = wavy_rows(150, seed, n_classes)
        tree = tree_of(rows, 3, seed, linear=linear, greedy=greedy)
        rng = np.random.default_rng(seed)
        before = rows.loss(tree.predict(rows.x))[0]
        for level in (2, 1, 0):
            tree = polish_level(tree, rows, level, 40, GetSettings(), rng)
            after = rows.loss(tree.predict(rows.x))[0]
            assert after <= before + 1e-12
            before = after


def test_polish_gains_on_a_random_tree():
    rows = wavy_rows(400, 0)
    tree = tree_of(rows, 4, 0, linear=False, greedy=False)
    before = rows.loss(tree.predict(rows.x))[0]
    rng = np.random.default_rng(0)
    for level in (3, 2, 1, 0):
        tree = polish_level(tree, rows, level, 150, GetSettings(), rng)
    assert rows.loss(tree.predict(rows.x))[0] < 0.9 * before


def test_polish_leaves_pruned_splits_alone():
    rows, valid = wavy_rows(300, 0), wavy_rows(60, 1)
    tree, _ = prune_by_validation(
        tree_of(rows, 5, 0, linear=False, greedy=True), rows, valid
    )
    gone = np.isinf(tree.threshold)
    assert gone.any()
    polished = polish_level(tree, rows, 2, 40, GetSettings(), np.random.default_rng(0))
    assert (np.isinf(polished.threshold) == gone).all()
    assert not polished.weights[gone].any()
