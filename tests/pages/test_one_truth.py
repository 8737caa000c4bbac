"""A run has one tree and one score: every page, file and command shows the same."""

import re

import numpy as np
import pytest

from tests.pages.shown import nodes, page_text, viewers
from tests.pages.stores import MAKERS, add_run
from treelab.cli.main import main
from treelab.trees.pruning_path import shown_tree, takes_empty_branch
from treelab.trees.words import significant


def n_leaves(view: dict) -> int:
    """Leaves of the tree that a viewer shows first."""
    return sum("condition" not in node for node in nodes(view))


def facts(app) -> dict[str, str]:
    """The facts that stand beside the tree."""
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page_text(app)))


def listed(app, column: str):
    """The list on a page that has a column of this name."""
    return next(each.value for each in app.dataframe if column in each.value)


FEW = ("gradtree", "grande")
LEARNERS = [
    pytest.param(key, marks=() if key in FEW else pytest.mark.slow) for key in MAKERS
]


@pytest.fixture(params=LEARNERS)
def learner(request) -> str:
    return request.param


@pytest.fixture
def run(store, learner):
    """A run of each learner, and another to compare it with."""
    add_run(store, "cart")
    run_id = add_run(store, learner, sizes=learner == "gradtree")
    return store.run(run_id)


@pytest.fixture
def tree(store, run, learner):
    """The tree that every page is to show; of an ensemble the one of highest weight."""
    model = store.model(run.id)
    if learner != "grande":
        return shown_tree(model)
    X = run.problem.split(store.table(run.problem.table_id)).X_test
    heaviest = int(model.estimator_weights(X).mean(0).argmax())
    return shown_tree(model, estimator=heaviest)


@pytest.mark.slow
def test_sizes_are_those_of_the_tree_on_every_page(visit, store, run, tree, learner):
    app = visit("tree", run=run.id)
    shown = facts(app)
    assert shown["Leaves"] == str(tree.n_leaves)
    assert shown["Splits"] == str(tree.n_splits)
    assert shown["Depth"] == str(tree.depth)
    assert n_leaves(viewers(app)[0]) == tree.n_leaves
    assert page_text(app).count("<td class='if'>") == tree.n_leaves

    routing = visit("tree", tab="Routes", run=run.id)
    assert len(listed(routing, "level")) == tree.n_nodes

    compare = visit("compare", run=run.id)
    assert n_leaves(viewers(compare)[1]) == tree.n_leaves

    live = visit("train", run=run.id)
    assert n_leaves(viewers(live)[0]) == tree.n_leaves

    table = visit("runs").dataframe[0].value
    sizes = compare.dataframe[0].value.iloc[1]
    names = ("leaves", "splits", "depth")
    leaves, splits, depth = (run.summary[name] for name in names)
    assert table["leaves"][0] == leaves
    assert sizes["leaves"] == f"{leaves:,}"
    assert sizes["splits"] == f"{splits:,}"
    assert sizes["depth"] == f"{depth:,}"
    if learner == "grande":
        model = store.model(run.id)
        trees = [shown_tree(model, estimator=e) for e in range(model.n_estimators)]
        assert leaves == sum(each.n_leaves for each in trees)
        assert depth == max(each.depth for each in trees)
        return
    assert (leaves, splits, depth) == (tree.n_leaves, tree.n_splits, tree.depth)
    assert n_leaves(viewers(visit("explain", run=run.id))[0]) == leaves


def test_the_score_is_that_of_the_run_on_every_page(visit, run, learner):
    score = significant(run.metrics["test"]["macro_f1"])
    if learner == "argmin":  # a predictor on top: the tree's own score leads there
        led = page_text(visit("tree", run=run.id))
        assert f"which makes this run's predictions: {score} macro F1" in led
    else:
        assert visit("tree", run=run.id).metric[0].value == score
    compare = visit("compare", run=run.id)
    assert compare.dataframe[0].value["macro F1"].iloc[1] == score
    table = visit("runs").dataframe[0].value
    assert significant(table["score"][0]) == score
    live = visit("train", run=run.id)
    assert score in page_text(live)


@pytest.mark.slow
def test_rows_counted_are_those_it_was_fitted_to_on_every_page(visit, run, tree):
    n_rows = int(tree.n_rows[0])
    fitted = {144: "training rows", 192: "training and validation rows"}[n_rows]
    app = visit("tree", run=run.id)
    assert viewers(app)[0]["rows"]["total"] == n_rows
    assert viewers(app)[0]["rows"]["label"] == fitted
    rows = re.findall(r"<tr><td>(?:<mark>)?(\d+)", page_text(app))
    assert sum(map(int, rows)) == n_rows
    assert f"{n_rows} {fitted}" in page_text(app)
    for page, place in (("explain", 0), ("train", 0), ("compare", 1)):
        view = viewers(visit(page, run=run.id))[place]
        assert view["rows"]["total"] == n_rows


def test_files_and_commands_have_the_same_tree(store, run, tree, learner, capsys):
    which = []
    if learner == "grande":
        which = ["--estimator", str(_place(store, run, tree))]
    home = ["--home", str(store.home)]
    assert main(["export", run.id, "--format", "rules", *which, *home]) == 0
    assert len(capsys.readouterr().out.splitlines()) == tree.n_leaves + 1
    # A predictor on top, as of this argmin run, is in no code: that is refused.
    code = 2 if learner == "argmin" else 0
    assert main(["export", run.id, "--format", "python", *which, *home]) == code
    printed = capsys.readouterr()
    assert ("return" in printed.out) == (code == 0)
    assert ("predictor on top" in printed.err) == (code == 2)
    assert main(["runs", *home]) == 0
    line = capsys.readouterr().out.splitlines()[1].split()
    assert f"{run.summary['leaves']:,}" in line


def _place(store, run, tree) -> int:
    """Which of an ensemble's trees it is."""
    model = store.model(run.id)
    every = (shown_tree(model, estimator=e) for e in range(model.n_estimators))
    return next(
        e for e, each in enumerate(every) if np.array_equal(each.value, tree.value)
    )


def test_a_row_in_a_branch_without_training_rows_changes_no_picture(visit, store):
    run = add_run(store, "argmin")
    model = store.model(run)
    problem = store.run(run).problem
    X = problem.split(store.table(problem.table_id)).X_test
    edited = X.assign(**{"radius": 14.0, "texture $x$": 30.0})
    assert takes_empty_branch(model, edited).any()
    app = visit("explain", run=run, row="1", tab="What if")
    at_first = n_leaves(viewers(app)[0])
    fields = {each.label: each for each in app.number_input}
    fields["radius (mm)"].set_value(14.0)
    fields["texture \\$x\\$"].set_value(30.0).run()
    assert n_leaves(viewers(app)[0]) == at_first
    assert "takes a branch that none of the 144 training rows took" in page_text(app)
