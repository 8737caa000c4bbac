"""Annealed trees: their loss and gradient, beside slow and obvious code."""

import numpy as np
import pytest
import torch

from treelab.learners.common.objective import ClassObjective, RegressionObjective
from treelab.learners.common.target_scale import TargetScale
from treelab.learners.gradtree.annealed_trees import (
    PRIOR,
    SHARPNESS,
    SLOPE,
    SMALLEST,
    AnnealedTrees,
    TrainingRows,
)
from treelab.learners.gradtree.starts import StartRows, greedy_start, random_start

N_ROWS, N_FEATURES = 60, 5
HARD = 1e6  # slope and sharpness at which a split is hard
TASKS = {"regression": 0, "binary": 2, "multiclass": 4}


def objective_of(n_classes, y):
    """What trees of this many classes, or of values, are trained for."""
    if n_classes:
        return ClassObjective(class_weights=np.ones((n_classes, 1)))
    return RegressionObjective(TargetScale.of(y))


def problem(task, sizes, *, seed=0):
    """Rows in one encoding, and starts with so many leaves; 0 draws a random one."""
    n_classes, rng = TASKS[task], np.random.default_rng(seed)
    x = rng.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    y = rng.integers(n_classes, size=N_ROWS) if n_classes else rng.normal(size=N_ROWS)
    values = np.eye(n_classes)[y] if n_classes else y[:, None]
    objective = objective_of(n_classes, y)
    own, random = StartRows(x, y, values, 10), np.random.RandomState(seed)
    starts = [
        greedy_start(own, size, 1, random) if size else random_start(own, 2, random)
        for size in sizes
    ]
    rows = TrainingRows(
        x=torch.tensor(x.T)[None],
        target=torch.tensor(objective.encode(y)),
        objective=objective,
    )
    weight = torch.tensor(rng.exponential(size=(len(sizes), N_ROWS)).astype(np.float32))
    return rows, starts, weight


def annealed(rows, starts, weight):
    """The trees, their leaves drawn anew so that none equals another."""
    trees = AnnealedTrees(rows, starts, [0] * len(starts), weight)
    rng = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in trees.value:
            value += torch.randn(value.shape, generator=rng)
    return trees


def in_double(trees):
    """The same trees in float64, which finite differences need."""
    trees.double()
    trees.weight = trees.weight.double()
    target = trees.rows.target
    target = target.double() if target.is_floating_point() else target
    trees.rows = TrainingRows(trees.rows.x.double(), target, trees.rows.objective)
    for group in trees.groups:
        group.passed, group.absent = group.passed.double(), group.absent.double()
    return trees


def losses_of_leaves(objective, value, target):
    """Probability of the truth (L,) in each leaf, or its squared error."""
    if objective.n_classes:
        odds = np.exp(value - value.max(1, keepdims=True))
        return (odds / odds.sum(1, keepdims=True))[:, int(target)]
    return (value[:, 0] - float(target)) ** 2


def slow_loss(trees, place, slope, sharpness):
    """Loss (n,) of one tree, a row and a leaf at a time, by the formula."""
    group, objective = trees.groups[0], trees.rows.objective
    paths = trees.starts[place].tree.paths()
    n_splits = paths.shape[2]
    logits, threshold, columns = (
        part[place, :n_splits].detach().double().numpy()
        for part in (group.logits, group.threshold, group.columns)
    )
    value = group.value[place].detach().double().numpy()[: len(paths)]
    x = trees.rows.x[0].double().numpy()
    found = []
    for row, target in enumerate(trees.rows.target):
        left = []
        for split in range(n_splits):
            odds = np.exp(sharpness * (logits[split] - logits[split].max()))
            own = x[columns[split].astype(int), row]
            sides = 1 / (1 + np.exp(-slope * (threshold[split] - own)))
            left.append((odds / odds.sum() * sides).sum())
        left = np.clip(left, SMALLEST, 1 - SMALLEST)
        reach = [np.prod(left[p[0]]) * np.prod((1 - left)[p[1]]) for p in paths]
        mean = float(np.dot(reach, losses_of_leaves(objective, value, target)))
        found.append(-np.log(max(mean, SMALLEST)) if objective.n_classes else mean)
    return np.array(found)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("sizes", [[2], [6], [0], [4, 5, 6]])
def test_the_loss_is_that_of_the_mixture_of_leaves(task, sizes):
    trees = annealed(*problem(task, sizes))
    group, rows = trees.groups[0], trees.rows
    ours = group.loss(rows.x, rows.target, 3.0, 2.0).detach().numpy()
    for place in range(len(sizes)):
        expected = slow_loss(trees, place, 3.0, 2.0)
        np.testing.assert_allclose(ours[place], expected, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("done", [0.0, 0.4, 1.0])
def test_slope_and_sharpness_grow_with_the_steps(done):
    trees = annealed(*problem("binary", [4, 6]))
    slope = SLOPE[0] ** (1 - done) * SLOPE[1] ** done
    sharpness = SHARPNESS[0] ** (1 - done) * SHARPNESS[1] ** done
    ours = trees.batch_loss(torch.arange(N_ROWS), done).detach()
    for place in range(2):
        weight = trees.weight[place].numpy()
        expected = np.average(slow_loss(trees, place, slope, sharpness), weights=weight)
        assert ours[place].item() == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("task", TASKS)
def test_a_hard_tree_has_the_loss_of_the_leaf_that_each_row_reaches(task):
    trees = annealed(*problem(task, [4, 5, 6]))
    rows, objective = trees.rows, trees.rows.objective
    group = trees.groups[0]
    ours = group.loss(rows.x, rows.target, HARD, HARD).detach().numpy()
    x = rows.x[0].T.numpy()
    for place, tree in enumerate(trees.hard_trees()):
        leaf = np.searchsorted(tree.leaves, tree.apply(x))
        value = group.value[place].detach().numpy()
        reached = np.array(
            [
                losses_of_leaves(objective, value[at : at + 1], target)[0]
                for at, target in zip(leaf, rows.target)
            ]
        )
        expected = -np.log(reached) if objective.n_classes else reached
        np.testing.assert_allclose(ours[place], expected, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("task", TASKS)
def test_the_hard_loss_is_that_of_leaves_refitted_to_the_rows(task):
    trees = annealed(*problem(task, [4, 5, 9]))
    rows = torch.arange(0, N_ROWS, 2)
    x, targets = trees.rows.x[0].T.numpy()[rows], trees.rows.targets().numpy()[rows]
    for tree, measured in zip(trees.hard_trees(), trees.hard_loss(rows).tolist()):
        leaf = tree.apply(x)
        total = 0.0
        for own, target in zip(leaf, targets):
            here = targets[leaf == own]
            mean = (here.sum(0) + PRIOR * targets.mean(0)) / (len(here) + PRIOR)
            wrong = (mean - target) ** 2
            total += wrong.sum() if TASKS[task] == 0 else -np.log(mean @ target)
        assert measured == pytest.approx(total / len(leaf), rel=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_the_gradient_is_that_of_finite_differences(task):
    trees = in_double(annealed(*problem(task, [4, 5])))
    batch = torch.arange(12)
    parameters = [*trees.logits, *trees.threshold, *trees.value]
    # The parameters are changed in place, so the function need not read its arguments.
    assert torch.autograd.gradcheck(
        lambda *_: trees.batch_loss(batch, 0.1), parameters, atol=1e-5
    )


@pytest.mark.parametrize("task", TASKS)
def test_a_tree_in_a_group_trains_as_it_does_alone(task):
    rows, starts, weight = problem(task, [4, 5, 6])
    batch = torch.arange(40)
    together = AnnealedTrees(rows, starts, [0] * 3, weight)
    assert len(together.groups) == 1
    loss = together.batch_loss(batch, 0.5)
    loss.sum().backward()
    for place, start in enumerate(starts):
        alone = AnnealedTrees(rows, [start], [0], weight[place : place + 1])
        own = alone.batch_loss(batch, 0.5)
        own.sum().backward()
        torch.testing.assert_close(own[0], loss[place])
        for name in ("logits", "threshold", "value"):
            mine = getattr(alone, name)[0]
            padded = getattr(together, name)[0]
            size = mine.shape[1]
            torch.testing.assert_close(mine.grad[0], padded.grad[place, :size])
            assert not padded.grad[place, size:].any()


@pytest.mark.parametrize("task", TASKS)
def test_rows_of_weight_zero_have_no_influence(task):
    rows, starts, weight = problem(task, [4, 6])
    hidden = torch.arange(N_ROWS) % 5 == 0
    weight[:, hidden] = 0
    other_x, other_target = rows.x.clone(), rows.target.clone()
    other_x[:, :, hidden] = 9.0
    other_target[hidden] = other_target[~hidden][0]
    other = TrainingRows(other_x, other_target, rows.objective)
    found = []
    for own in (rows, other):
        trees = AnnealedTrees(own, starts, [0, 0], weight)
        loss = trees.batch_loss(torch.arange(N_ROWS), 0.3)
        loss.sum().backward()
        found.append([loss, *trees.parameters(), *[p.grad for p in trees.parameters()]])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_before_the_first_step_the_hard_trees_are_the_starts():
    rows, starts, weight = problem("binary", [4, 6, 20])
    trees = AnnealedTrees(rows, starts, [0] * 3, weight)
    assert len(trees.groups) == 2  # 19 splits stand apart from 3 and 5
    for tree, start in zip(trees.hard_trees(), starts):
        np.testing.assert_array_equal(tree.feature, start.tree.feature)
        np.testing.assert_array_equal(tree.threshold, start.tree.threshold)


def test_each_tree_reads_the_encoding_that_is_its_own():
    rows, starts, weight = problem("binary", [4])
    both = TrainingRows(
        torch.cat([rows.x, -rows.x]), rows.target, objective=rows.objective
    )
    batch, starts = torch.arange(N_ROWS), starts * 2
    weight = weight.repeat(2, 1)
    own = AnnealedTrees(both, starts, [0, 1], weight).batch_loss(batch, 0.5)
    for place, x in enumerate((rows.x, -rows.x)):
        alone = TrainingRows(x, rows.target, rows.objective)
        trees = AnnealedTrees(alone, starts[:1], [0], weight[:1])
        torch.testing.assert_close(own[place], trees.batch_loss(batch, 0.5)[0])
