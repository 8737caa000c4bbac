"""A store that cannot be used says why, and what to do."""

import shutil
import sqlite3

import pytest

from treelab.runs.store import database
from treelab.runs.store.database import StoreError
from treelab.runs.store.run_store import RunStore

pytestmark = pytest.mark.parametrize("store", ["sqlite"], indirect=True)


@pytest.fixture
def connecting(monkeypatch):
    """Run a statement on every connection that is opened from now on."""
    connect = sqlite3.connect

    def with_statement(statement):
        def opened(*args, **kwargs):
            db = connect(*args, **kwargs)
            db.execute(statement)
            return db

        monkeypatch.setattr(database.sqlite3, "connect", opened)

    return with_statement


def test_a_deleted_folder_is_named_and_a_new_store_begins_empty(store, problem):
    store.create("cart", {}, problem)
    shutil.rmtree(store.home)
    with pytest.raises(StoreError, match=r"is gone.*Put it back"):
        store.runs()
    assert not store.home.exists()
    assert RunStore(store.home).runs() == []


def test_a_damaged_file_is_named_and_left_as_it_is(store):
    path = store.home / "treelab.sqlite"
    path.write_bytes(content := b"no database " * 1000)
    for use in (store.runs, lambda: RunStore(store.home)):
        with pytest.raises(StoreError, match=r"is damaged.*move it away"):
            use()
    assert path.read_bytes() == content


def test_on_a_full_disk_runs_are_still_listed_and_none_is_lost(
    store, problem, connecting
):
    run_id = store.create("cart", {}, problem)
    with database.reading(store.home / "treelab.sqlite") as db:
        pages = db.execute("PRAGMA page_count").fetchone()["page_count"]
    connecting(f"PRAGMA max_page_count={pages}")

    def fill():
        for _ in range(200):
            store.create("cart", {}, problem)

    with pytest.raises(StoreError, match=r"full.*Free some space"):
        fill()
    again = RunStore(store.home)
    assert run_id in [run.id for run in again.runs()]


def test_a_folder_that_may_not_be_written_says_so(store, problem, connecting):
    connecting("PRAGMA query_only=ON")
    with pytest.raises(StoreError, match=r"may not write.*TREELAB_HOME"):
        store.create("cart", {}, problem)
    assert store.runs() == []


def test_a_folder_that_nobody_can_write_is_read(store, problem, monkeypatch):
    run_id = store.create("cart", {}, problem)
    monkeypatch.setattr(database.os, "access", lambda *_: False)
    before = sorted(each.name for each in store.home.iterdir())
    with database.reading(store.database) as db:  # makes no file beside it
        assert db.execute("SELECT id FROM runs").fetchall() == [{"id": run_id}]
        assert sorted(each.name for each in store.home.iterdir()) == before
    assert [run.id for run in RunStore(store.home).runs()] == [run_id]
    with pytest.raises(StoreError, match=r"may not write.*TREELAB_HOME"):
        store.create("cart", {}, problem)


def test_a_mistake_of_ours_is_no_trouble_of_the_store(store):
    with (
        pytest.raises(sqlite3.IntegrityError),
        database.writing(store.home / "treelab.sqlite") as db,
    ):
        db.execute("INSERT INTO tables (id) VALUES ('a')")


def test_an_emptied_file_beside_runs_is_no_new_store(store, problem):
    store.create("cart", {}, problem)
    path = store.home / "treelab.sqlite"
    for each in store.home.glob("treelab.sqlite*"):
        each.unlink()
    path.write_bytes(b"")
    with pytest.raises(StoreError, match=r"is empty, but its folder holds 1 table\."):
        RunStore(store.home)
    assert path.read_bytes() == b""
    with pytest.raises(StoreError, match="is damaged: no such table"):
        store.runs()
    shutil.rmtree(store.home / "tables")
    assert RunStore(store.home).runs() == []


def test_a_lost_table_of_the_database_is_damage(store):
    with database.writing(store.home / "treelab.sqlite") as db:
        db.execute("DROP TABLE runs")
    with pytest.raises(StoreError, match=r"damaged: no such table: runs\. Put a copy"):
        store.runs()
