"""What holds for every page that looks at a run."""

import pytest

from tests.pages.shown import EXPLORE, components, viewers
from tests.pages.stores import MAKERS, add_run


@pytest.mark.parametrize("page", EXPLORE)
def test_an_empty_store_is_a_sentence_and_a_way_on(visit, page):
    app = visit(page)
    assert len(app.info) == 1
    assert "Train" in app.info[0].value
    assert len(app.get("page_link")) >= 1
    assert not viewers(app)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["kind", "ripe", "weight"])
@pytest.mark.parametrize("page", EXPLORE)
def test_every_kind_of_model_and_target_is_shown(visit, store, page, target):
    other = add_run(store, "cart", target)
    first, *more = [add_run(store, learner, target) for learner in MAKERS]
    app = visit(page, run=first, **({"against": other} if page == "compare" else {}))
    for run in (first, *more):
        app.selectbox(key="bar-run").set_value(run).run()
        assert not app.exception, app.exception
        assert app.selectbox(key="bar-run").value == run
        assert components(app) or app.get("plotly_chart") or app.info


@pytest.mark.parametrize("page", EXPLORE[:-1])
def test_a_run_in_training_shows_its_newest_tree(visit, store, page):
    run = add_run(store, "gradtree", state="running")
    app = visit(page, run=run)
    assert "epoch 7" in app.info[0].value


@pytest.mark.parametrize("page", EXPLORE)
def test_a_model_that_is_gone_is_said_without_a_traceback(visit, store, page):
    for learner in ("cart", "gradtree"):
        run = add_run(store, learner)
        for file in (store.folder(run) / "model").iterdir():
            file.unlink()
    app = visit(page)
    assert "cannot be shown" in app.error[0].value


@pytest.mark.parametrize("page", EXPLORE[:-1])
def test_the_chosen_run_goes_along_to_the_other_pages(visit, store, page):
    run = add_run(store, "cart")
    add_run(store, "gradtree", title="newer")
    app = visit("tree", run=run)
    app.switch_page(f"pages/{page}.py").run()
    assert app.selectbox(key="bar-run").value == run


@pytest.mark.parametrize("page", EXPLORE[:-1])
def test_words_of_the_table_are_no_markup(visit, store, page):
    app = visit(page, run=add_run(store, "cart"))
    for element in app.get("html"):
        assert "<b>red" not in element.proto.body
    for text in (*app.markdown, *app.caption):
        assert "$x$" not in text.value
