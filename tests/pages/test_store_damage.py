"""Over a damaged data folder each page says in a sentence what is wrong."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import APP
from tests.pages.stores import add_run
from treelab.runs.store.database import writing

WITHOUT_TABLE = ("runs",)  # pages that read no rows at first
PAGES = (*("data", "train", "tree", "explain", "compare"), *WITHOUT_TABLE)
CONTENT = b"x,y\n" + b"1,a\n2,b\n3,a\n4,b\n" * 10
TREES = ("train", *PAGES[2:-1])  # pages that show a run's trees


def opened(page: str, run: str) -> AppTest:
    """A page with a run, opened through ``app.py``."""
    app = AppTest.from_file(str(APP), default_timeout=30)
    app.session_state["wanted_page"] = (f"pages/{page}.py", {"run": run})
    app.run()
    assert not app.exception, app.exception
    return app


def errors(app: AppTest) -> str:
    """What the page says in red."""
    return "\n".join(each.value for each in app.error)


def cut(path):
    """Leave the first half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("page", PAGES)
def test_a_damaged_table_is_a_sentence(store, page):
    add_run(store, "gradtree")
    run = add_run(store, "cart", sizes=True)
    cut(store.home / "tables" / f"{store.tables()[0].id}.parquet")
    found = errors(opened(page, run))
    if page not in WITHOUT_TABLE:
        assert "cannot be read" in found
        assert "Give the same table again" in found


@pytest.mark.parametrize("page", TREES)
def test_a_damaged_model_is_a_sentence(store, page):
    add_run(store, "gradtree")
    run = add_run(store, "cart", sizes=True)
    cut(store.folder(run) / "model" / "model.json")
    found = errors(opened(page, run))
    assert "is damaged" in found
    assert "train it again" in found


@pytest.mark.parametrize("page", PAGES)
def test_an_emptied_database_is_a_sentence(store, page):
    run = add_run(store, "cart")
    for file in store.home.glob("treelab.sqlite*"):
        file.unlink()
    (store.home / "treelab.sqlite").write_bytes(b"")
    assert "Put a backup in its place" in errors(opened(page, run))


@pytest.mark.parametrize("page", PAGES)
def test_lost_runs_are_a_sentence(store, page):
    run = add_run(store, "cart")
    with writing(store.database) as db:
        db.execute("DELETE FROM runs")
        db.execute("DELETE FROM tables")
    (said,) = opened(page, run).warning
    assert "lists no run" in said.value
    assert "holds 1 run folder and 1 table" in said.value


@pytest.fixture
def uploaded(store):
    """A page on which a table was uploaded whose file is cut afterwards."""
    app = AppTest.from_file(str(APP), default_timeout=30).run()
    app.session_state["upload-open"] = True
    app.run()
    app.file_uploader(key="upload").upload("a.csv", CONTENT).run()
    cut(store.home / "tables" / f"{store.tables()[0].id}.parquet")
    st.cache_resource.clear()
    st.cache_data.clear()
    return app


def test_the_same_table_uploaded_again_mends_it(store, uploaded):
    table_id = store.tables()[0].id
    app = uploaded.run()
    assert "Give the same table again" in errors(app)
    app.file_uploader(key="upload").upload("b.csv", CONTENT).run()
    assert not app.exception
    assert not app.error
    assert store.table(table_id).shape == (40, 2)


def test_a_damaged_table_that_is_chosen_leaves_the_one_before(store, uploaded):
    damaged = store.tables()[0].id
    app = AppTest.from_file(str(APP), default_timeout=30).run()
    before = app.selectbox(key="bar-table").value
    app.selectbox(key="bar-table").set_value(damaged).run()
    assert not app.exception
    assert "Give the same table again" in errors(app)
    assert app.selectbox(key="bar-table").value == before
    assert not app.run().error  # said once
