"""A pruning path's table holds what each of its trees scores and how large it is."""

from dataclasses import replace

import pytest

from tests.pages.stores import pruning_path, single_tree, table
from treelab.data.problem import make_problem
from treelab.data.split import JOINED
from treelab.evaluation.frontier import frontier_line
from treelab.evaluation.metrics import headline, scores
from treelab.evaluation.pruning import (
    cost_complexity_table,
    pruning_steps,
    trained_path_table,
)
from treelab.trees.pruning import cost_complexity_path


def problem_of(target):
    """Split and classes of the hand-made table."""
    frame = table()
    columns = ["radius", "texture $x$", "colour"]
    problem = make_problem(frame, target, columns=columns)
    split = problem.split(frame)
    classes = None
    if problem.task != "regression":
        classes = tuple(split.y_train.value_counts().index.tolist())
    return problem.task, split, classes


@pytest.mark.parametrize("target", ["kind", "ripe", "weight"])
@pytest.mark.parametrize("tree_alone", [False, True])
def test_each_strength_has_the_scores_of_its_own_predictions(target, tree_alone):
    task, split, classes = problem_of(target)
    path = pruning_path(classes, target, split)
    found = trained_path_table(path, path.trees, split, tree_alone=tree_alone)
    for i, tree in enumerate(path.trees):
        for part in ("valid", "test"):
            X, y, _ = split.rows(part)
            predicted = tree.predict(X) if tree_alone else path.predict(X, i)
            expected = scores(task, y, predicted)[headline(task)]
            assert found[f"{part}_score"][i] == pytest.approx(expected)
        assert found["leaves"][i] == tree.n_leaves
        assert found["active_splits"][i] == tree.n_splits
    assert found["strength"].tolist() == path.strengths.tolist()


def test_without_labels_there_is_a_loss_and_no_score():
    _, split, classes = problem_of("kind")
    path = pruning_path(classes, "kind", split)
    path = replace(path, scores=path.scores.assign(purity=[0.9, 0.8, 0.7]))
    found = trained_path_table(path, path.trees, None)
    assert found["valid_loss"].tolist() == path.scores["valid_loss"].tolist()
    assert found["purity"].tolist() == [0.9, 0.8, 0.7]
    assert not any("score" in column for column in found.columns)


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_each_step_of_cost_complexity_is_scored_as_its_tree_predicts(target):
    task, split, classes = problem_of(target)
    tree = single_tree(classes, target, split)
    path = cost_complexity_path(tree.with_rows(split.X_train, split.y_train))
    found = cost_complexity_table(path, split)
    for i, pruned in enumerate(path):
        X, y, _ = split.rows("test")
        expected = scores(task, y, pruned.predict(X))[headline(task)]
        assert found["test_score"][i] == pytest.approx(expected)
        assert (found["leaves"][i], found["depth"][i]) == (
            pruned.n_leaves,
            pruned.depth,
        )


@pytest.mark.parametrize("fitted", ["train", JOINED])
def test_rows_that_a_tree_was_fitted_to_are_not_held_out(fitted):
    _, split, classes = problem_of("kind")
    tree = single_tree(classes, "kind", split, fitted)
    steps = pruning_steps(tree, None, split, fitted)
    line = frontier_line(steps.judged, steps.own)
    assert line.table["held_out"].notna().all() == (fitted == "train")
    assert line.table["test"].notna().all()
    assert ("its validation score is too high" in steps.sentences()) == (
        fitted == JOINED
    )
