import pytest
from sklearn.metrics import f1_score

from tests.pages.stores import add_run
from treelab.learners.common.origin import Origin
from treelab.reports.tree_page import html_page
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning_path import ON_TOP, shown_tree
from treelab.trees.words import significant


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "home")


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_a_page_shows_the_tree_of_a_run_and_its_test_score(store, target):
    run = store.run(add_run(store, "cart", target, title="My <own> tree"))
    tree = store.model(run.id)
    page = html_page(tree, store, run)
    assert "<title>My &lt;own&gt; tree</title>" in page
    score = "macro F1" if target == "kind" else "R²"
    assert f"<p>{score} 0." in page
    assert "on 48 test rows. Rows and bars in the picture: training rows.</p>" in page


def test_a_tree_without_a_run_has_no_score(store):
    tree = store.model(add_run(store, "cart"))
    page = html_page(tree)
    assert page.startswith("<!doctype html>")
    assert "test row" not in page


def test_a_run_whose_table_is_gone_is_refused(store):
    run = store.run(add_run(store, "cart"))
    tree = store.model(run.id)
    empty = RunStore(store.home.parent / "other")
    with pytest.raises(LookupError):
        html_page(tree, empty, run)


def test_a_page_says_how_its_tree_came_about(store):
    origin = Origin("greedy", True, 3, 2)
    run = store.run(add_run(store, "gradtree", origin=origin))
    page = html_page(store.model(run.id), store, run)
    assert f"<p>{origin}</p>" in page
    assert page.count(str(origin)) == 2  # there, and in the tree as text


def test_a_tree_of_an_ensemble_is_not_credited_with_the_ensembles_score(store):
    run = store.run(add_run(store, "grande"))
    model = store.model(run.id)
    tree = model.estimator(3)
    page = html_page(tree, store, run, 3)
    assert "<h1>" + run.title + ", tree 3 of 24</h1>" in page
    ensemble = significant(run.metrics["test"]["macro_f1"])
    assert (
        "<p>The ensemble of 24 trees predicts, not this one tree: "
        f"macro F1 {ensemble} on 48 test rows; this tree alone: "
        f"{own_score(tree, store, run)}. "
    ) in page


def test_an_argmin_tree_says_that_a_predictor_on_top_predicts(store):
    run = store.run(add_run(store, "argmin"))
    tree = shown_tree(store.model(run.id))
    page = html_page(tree, store, run)
    path = significant(run.metrics["test"]["macro_f1"])
    assert (
        "<p>A predictor on top of this tree makes the predictions: "
        f"macro F1 {path} on 48 test rows; the leaves of the tree alone: "
        f"{own_score(tree, store, run)}. "
    ) in page
    assert page.count(ON_TOP) == 2  # below the picture, and in the tree as text


def own_score(tree, store, run) -> str:
    """A single tree's own macro F1 on the test rows, in words."""
    split = run.problem.split(store.table(run.problem.table_id))
    X, y, _ = split.rows("test")
    labels = list(tree.classes)
    return significant(f1_score(y, tree.predict(X), average="macro", labels=labels))
