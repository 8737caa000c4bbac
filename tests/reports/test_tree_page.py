import pytest

from tests.pages.stores import add_run
from treelab.learners.common.origin import Origin
from treelab.reports.tree_page import html_page
from treelab.runs.store.run_store import RunStore


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
