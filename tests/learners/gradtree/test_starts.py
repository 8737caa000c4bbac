import numpy as np
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier

from treelab.learners.common.folds import assign_folds
from treelab.learners.common.objective import ClassObjective
from treelab.learners.common.rows import to_rows
from treelab.learners.common.splits import random_splits, write_greedy_splits
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.starts import StartPlan, greedy_splits, start_batch
from treelab.ops.axis_trees import axis_leaves


@pytest.mark.parametrize("depth", [1, 3, 6])
@pytest.mark.parametrize("subset", [False, True])
def test_a_tree_with_greedy_splits_sends_rows_where_cart_does(depth, subset):
    rng = np.random.default_rng(depth)
    x = rng.normal(size=(200, 6)).astype(np.float32)
    y = (x[:, 0] * x[:, 3] > 0).astype(int)
    cart = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=5, random_state=0)
    feature, value = greedy_splits(
        x,
        y,
        np.ones(200),
        depth=depth,
        min_samples_leaf=5,
        regression=False,
        seed=0,
    )
    columns = None
    if subset:
        columns = torch.arange(6).flip(0)[None]
    generator = torch.Generator().manual_seed(0)
    rows = torch.tensor(x)
    logits, threshold = random_splits(rows, 1, 2**depth - 1, generator, columns=columns)
    offered = None if columns is None else columns[0]
    write_greedy_splits(logits[0], threshold[0], feature, value, offered)
    ours = axis_leaves(rows, logits, threshold, columns=columns)[0].numpy()
    theirs = cart.fit(x, y).apply(x)
    # Rows of one of our leaves share CART's leaf: ours only goes on splitting.
    for leaf in np.unique(ours):
        assert len(np.unique(theirs[ours == leaf])) == 1


def test_thresholds_are_drawn_from_the_values_of_their_own_column():
    x = torch.arange(20.0).view(10, 2) * torch.tensor([1.0, 100.0])
    _, threshold = random_splits(x, 3, 7, torch.Generator().manual_seed(0))
    for column in range(2):
        assert set(threshold[..., column].flatten().tolist()) <= set(
            x[:, column].tolist()
        )


@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_folds_differ_by_at_most_one_row_of_a_class(n_folds):
    y = np.repeat([0, 1, 2], [50, 7, 2])
    fold = assign_folds(y, n_folds, seed=1)
    for label in range(3):
        counts = np.bincount(fold[y == label], minlength=n_folds)
        assert np.ptp(counts) <= 1


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("greedy", [True, False])
def test_random_trees_of_many_classes_are_no_deeper_than_the_rows_fill(
    n_classes, greedy
):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 3))
    y = np.arange(90) % n_classes
    objective = ClassObjective(class_weights=np.ones((n_classes, 1)))
    rows = to_rows(
        x,
        y,
        assign_folds(y, 3, seed=0),
        n_train=90,
        objective=objective,
        device=torch.device("cpu"),
    )
    plan = StartPlan(
        depths=(2, 4, 6),
        n_folds=3,
        n_restarts=4,
        min_samples_leaf=(1,) if greedy else (),
        seed=0,
    )
    generator = torch.Generator().manual_seed(0)
    batch = start_batch(rows, y, plan, objective, GradTreeSettings(), generator)
    at_random = {c.depth for c in batch.candidates if c.start == "random"}
    # 60 rows fill 16 leaves with two rows each, but not 64.
    few = n_classes > 2 and greedy
    assert at_random == ({2, 4} if few else {2, 4, 6})
    assert set(batch.depths) == {2, 4, 6}
