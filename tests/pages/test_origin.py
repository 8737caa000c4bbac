"""How a model came about is said wherever it is shown, once a page."""

import pytest

from tests.pages.shown import page_text, viewers
from tests.pages.stores import add_run
from treelab.learners.common.origin import Origin

TRAINED = Origin("greedy", True, 3, 2, ("polish",))
UNCHANGED = Origin("greedy", True, 3, 0)
GROWN = Origin("greedy", False, 3, 0)


def drawn_notes(app) -> str:
    """The notes below all trees that the page draws."""
    return str([view["trees"][0]["notes"] for view in viewers(app)])


def shown(app) -> str:
    """The page's words as they are read, without the marks of Markdown."""
    return page_text(app).replace("\\", "")


def test_tree_says_once_what_it_began_as_and_what_came_later(store, visit):
    add_run(store, "gradtree", origin=TRAINED)
    app = visit("tree", tab="Scores")
    assert str(TRAINED) in shown(app)
    assert "Began as" not in drawn_notes(app)


def test_compare_says_it_of_both_trees(store, visit):
    add_run(store, "cart", origin=GROWN)
    add_run(store, "gradtree", origin=TRAINED)
    app = visit("compare")
    assert GROWN.headline in shown(app)
    assert TRAINED.headline in shown(app)
    assert "quals its start" not in shown(app)
    assert "Began as" not in drawn_notes(app)


def test_runs_says_it_in_a_column(store, visit):
    add_run(store, "gradtree", origin=TRAINED)
    table = visit("runs").dataframe[0].value
    assert table["origin"].tolist() == [TRAINED.headline]


def test_a_tree_that_equals_its_start_says_so_in_the_headlines(store, visit):
    add_run(store, "cart", origin=GROWN)
    run_id = add_run(store, "gradtree", origin=UNCHANGED)
    assert UNCHANGED.headline in shown(visit("compare"))
    assert "(equals its start, a greedy tree)" in shown(visit("train", run=run_id))


@pytest.mark.parametrize("page", ["tree", "compare", "runs", "train"])
def test_a_run_whose_origin_nobody_knows_is_shown_without(store, visit, page):
    add_run(store, "cart")
    add_run(store, "gradtree")
    assert "Began" not in shown(visit(page))


@pytest.mark.slow
def test_the_papers_recipe_is_named_where_it_was_followed(store, visit):
    add_run(store, "cart", origin=GROWN)
    run_id = add_run(
        store, "argmin", origin=TRAINED, settings={"recipe": "paper", "depth": 3}
    )
    assert "Paper's recipe. Began as" in shown(visit("compare"))
    table = visit("runs").dataframe[0].value
    assert table["origin"][0].startswith("Paper's recipe. Began as")
    assert table["settings"].tolist() == ["paper's recipe, depth 3", ""]
    chosen = visit("tree", run=run_id).selectbox(key="bar-run")
    assert any("Argmin tree (paper)" in label for label in chosen.options)
