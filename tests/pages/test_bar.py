"""The bar: one table, target and run on all pages; the run is always one of theirs."""

from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages import stores
from tests.pages.shown import page_text
from tests.pages.stores import add_run

LOOK = ("tree", "explain", "compare")


@pytest.fixture
def two_tables(store, monkeypatch):
    """Two runs of each of two tables, by the target; those of kind came first."""
    found = {}
    for seed, target in enumerate(("kind", "weight")):
        rows = partial(stores.table, seed=seed)
        with monkeypatch.context() as patch:
            patch.setattr(stores, "table", rows)
            found[target] = [
                add_run(store, own, target) for own in ("cart", "gradtree")
            ]
    return found


def table_of(store, run_id: str) -> str:
    """Id of a run's table."""
    return store.run(run_id).problem.table_id


def shown(app: AppTest) -> tuple:
    """What the bar says, which is what the address says."""
    table = app.selectbox(key="bar-table").value
    run = app.selectbox(key="bar-run").value
    target = app.selectbox(key=f"bar-target-{table}").value
    named = tuple(app.query_params.get(key) for key in ("table", "target", "run"))
    assert named == (table, target, run)
    return table, target, run


def turn(app: AppTest, page: str) -> AppTest:
    """Turn to another page by the sidebar, which empties the address."""
    app.switch_page(f"pages/{page}.py")
    for key in list(app.query_params):
        del app.query_params[key]
    app.run()
    assert not app.exception
    return app


def test_another_table_takes_its_own_newest_run_to_all_pages(visit, store, two_tables):
    first, second = two_tables["kind"], two_tables["weight"]
    app = visit("train", run=first[0])
    assert shown(app) == (table_of(store, first[0]), "kind", first[0])
    turn(app, "compare")
    assert app.selectbox(key="against").value == first[1]
    app.selectbox(key="bar-table").set_value(table_of(store, second[0])).run()
    for page in ("compare", *LOOK, "train", "data", "runs"):
        turn(app, page)
        assert shown(app) == (table_of(store, second[0]), "weight", second[1])
        if page == "compare":
            assert app.selectbox(key="against").value == second[0]
    # Back: nothing of the first visit is left, the newest run is shown.
    app.selectbox(key="bar-table").set_value(table_of(store, first[0])).run()
    assert shown(turn(app, "tree"))[2] == first[1]


def test_another_target_without_a_run_says_so_and_leads_to_train(visit, store):
    run = add_run(store, "cart")
    add_run(store, "gradtree")
    app = visit("tree", run=run)
    key = table_of(store, run)
    app.selectbox(key=f"bar-target-{key}").set_value("ripe").run()
    for page in LOOK:
        turn(app, page)
        assert shown(app) == (key, "ripe", None)
        assert "to predict “ripe” yet" in app.info[0].value
        assert not app.error
    app.selectbox(key=f"bar-target-{key}").set_value("kind").run()
    assert shown(turn(app, "tree"))[2] != run  # the newest, not what was chosen before


@pytest.mark.slow
def test_a_run_of_another_table_in_the_address_brings_its_table(visit, two_tables):
    first, second = two_tables["kind"][0], two_tables["weight"][0]
    app = visit("tree", run=first)
    for page in ("explain", "compare", "train"):
        for run in (second, first):
            app.switch_page(f"pages/{page}.py")
            app.query_params.update({"run": run, "table": "wine", "target": "x"})
            app.run()
            assert shown(app)[1:] == ("weight" if run == second else "kind", run)


def test_a_visit_begins_with_the_split_of_the_run_that_is_shown(visit, store):
    run = add_run(store, "cart")
    add_run(store, "cart", seed=3, repeat_of=run)
    app = visit("data")
    assert (app.session_state["run"], app.session_state["problem"].seed) == (run, 0)


def test_an_address_with_only_a_table_shows_its_newest_run(visit, store, two_tables):
    newest = two_tables["kind"][1]
    app = visit("tree", table=table_of(store, newest))
    assert shown(app)[2] == newest
    app = visit("tree", table=table_of(store, newest), target="ripe")
    assert shown(app)[1:] == ("ripe", None)


def test_a_deleted_run_leaves_its_table_with_the_next(visit, store, two_tables):
    cart, newest = two_tables["kind"]
    app = visit("tree", run=newest)
    store.delete(newest)
    app.run()
    assert shown(app)[1:] == ("kind", cart)
    assert "No other run has the test rows" in turn(app, "compare").info[0].value
    assert shown(visit("tree", run=newest))[2]
    assert "is not here" in page_text(visit("tree", run=newest))


@pytest.mark.slow
def test_what_is_trained_is_the_run_and_the_pair_is_chosen_anew(
    visit, store, two_tables
):
    cart, gradtree = two_tables["kind"]
    app = visit("compare", run=cart, against=gradtree)
    assert app.selectbox(key="against").value == gradtree
    turn(app, "data")
    app.button(key="train-defaults").click().run()
    started = store.runs()[0]
    assert started.state == "queued"
    assert shown(turn(app, "tree"))[2] == started.id
    assert "it has no tree yet" in app.info[0].value
    assert "against" not in app.session_state
    newest = add_run(store, "gradtree")  # as if it had been that
    store.delete(started.id)
    app.run()
    turn(app, "compare")
    assert shown(app)[2] == newest
    assert app.selectbox(key="against").value == cart


def test_an_earlier_address_of_a_pair_still_leads_to_it(visit, two_tables):
    cart, gradtree = two_tables["weight"]
    app = visit("compare", first=gradtree, second=cart)
    assert shown(app)[2] == cart
    assert app.selectbox(key="against").value == gradtree


def test_links_name_the_run(visit, two_tables):
    cart, _ = two_tables["kind"]
    app = visit("train", run=cart)
    links = {link.proto.label: link.proto.query_string for link in app.get("page_link")}
    assert f"run={cart}" in links["See the tree"]
    assert f"run={cart}" in links["Compare"]


def test_of_two_tables_of_one_name_the_chosen_one_stays(store, visit):
    run_id = add_run(store, "cart")
    name = store.run(run_id).problem.table_name
    store.add_table(stores.table(seed=1), name)
    app = visit("tree", run=run_id)
    options = app.selectbox(key="bar-table").options
    assert len(set(options)) == len(options)
    assert shown(app) == shown(app.run()) == (table_of(store, run_id), "kind", run_id)
    other = app.selectbox(key="bar-table").options.index(name)
    app.selectbox(key="bar-table").select_index(other).run()
    assert shown(app)[0] == table_of(store, run_id)  # the older one has the bare name


def test_a_run_deleted_while_its_page_is_open_is_said_to_be_gone(
    visit, store, monkeypatch
):
    run = add_run(store, "cart")

    def gone(*_):
        store.delete(run)
        raise LookupError(run)

    monkeypatch.setattr("pages.tree.size.size_of", gone)
    app = visit("tree", run=run)
    assert not app.exception
    assert "is not here: it was deleted" in page_text(app)
