"""The store's database on a PostgreSQL server."""

import subprocess
import sys
import time

import pytest

from tests.runs.conftest import problem_in
from treelab.cli.main import main
from treelab.runs.care.doctor import examine
from treelab.runs.store import database, workers
from treelab.runs.store.database import StoreError, read_version, reading, writing
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.server import Server
from treelab.runs.store.workers import ProcessId
from treelab.runs.users import Visitor, VisitorStore, audit_log, set_admin


def test_two_folders_share_the_runs_of_a_server(on_server, tmp_path):
    here, there = RunStore(tmp_path / "here"), RunStore(tmp_path / "there")
    run_id = here.create("cart", {}, problem_in(here))
    assert there.run(run_id) == here.run(run_id)
    assert not (tmp_path / "here" / "treelab.sqlite").exists()


def test_a_transaction_that_fails_writes_nothing(on_server, tmp_path):
    store = RunStore(tmp_path)

    def write_and_fail():
        with writing(store.database) as db:
            db.execute("INSERT INTO apps VALUES (?)", ("a?%",))
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        write_and_fail()
    with reading(store.database) as db:
        assert db.execute("SELECT * FROM apps").fetchall() == []


def test_owners_admins_and_the_audit_are_on_the_server(on_server, tmp_path):
    store = RunStore(tmp_path)
    ann = VisitorStore(tmp_path, Visitor("ann@x.org"))
    bob = VisitorStore(tmp_path, Visitor("bob@x.org"))
    run_id = ann.create("cart", {}, problem_in(ann))
    assert [run.id for run in ann.runs()] == [run_id]
    assert bob.runs() == bob.tables() == []
    ann.delete(run_id)
    set_admin(store, "Bob@x.org", True)
    (line,) = audit_log(store)
    assert (line["user"], line["deed"]) == ("ann@x.org", "delete run")


def test_each_machine_sees_its_own_workers(on_server, tmp_path, monkeypatch):
    me = ProcessId.here()
    RunStore(tmp_path).worker_registry.register("cpu:0", me)
    monkeypatch.setattr(workers.socket, "gethostname", lambda: "other")
    other = RunStore(tmp_path).worker_registry
    assert other.workers() == []
    other.register("cpu:0", me, failures=2)
    assert [(w.slot, w.failures) for w in other.workers()] == [("cpu:0", 2)]
    assert other.heartbeat("cpu:0", me, "idle")
    other.unregister("cpu:0", me)
    assert other.workers() == []


def test_an_older_schema_is_migrated_and_a_newer_one_refused(
    on_server, tmp_path, monkeypatch
):
    store = RunStore(tmp_path)
    run_id = store.create("cart", {}, problem_in(store))
    add_note = "ALTER TABLE runs ADD COLUMN note REAL NOT NULL DEFAULT 0.1"
    with monkeypatch.context() as newer:
        newer.setattr(database, "STEPS", (*database.STEPS, add_note))
        assert RunStore(tmp_path).run(run_id).id == run_id
        with reading(store.database) as db:
            assert read_version(db) == len(database.STEPS)
            (row,) = db.execute("SELECT note FROM runs").fetchall()
            assert row["note"] == 0.1  # in double precision
    with pytest.raises(ValueError, match="newer treelab"):
        RunStore(tmp_path)


def test_the_doctor_examines_a_store_on_a_server(on_server, tmp_path):
    store = RunStore(tmp_path)
    store.create("cart", {}, problem_in(store))
    found = examine(tmp_path)
    assert not any(finding.is_trouble for finding in found), found


def test_backups_are_left_to_the_server(on_server, tmp_path, capsys):
    RunStore(tmp_path / "home")
    named = ["--home", str(tmp_path / "home")]
    assert main(["backup", str(tmp_path / "all.zip"), *named]) == 2
    assert "pg_dump" in capsys.readouterr().err


def test_a_server_that_does_not_answer_is_named_without_its_password(
    tmp_path, monkeypatch
):
    pytest.importorskip("psycopg")
    url = "postgresql://ann:secret@127.0.0.1:9/trees"
    monkeypatch.setenv("TREELAB_STORE", url)
    with pytest.raises(StoreError, match=r"ann:\*\*\*@127.0.0.1:9/trees") as raised:
        RunStore(tmp_path)
    assert "secret" not in str(raised.value)


def test_another_kind_of_address_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("TREELAB_STORE", "mysql://ann:secret@host/trees")
    with pytest.raises(
        ValueError, match="must be an address like postgresql"
    ) as raised:
        RunStore(tmp_path)
    assert "secret" not in str(raised.value)
    assert Server("postgresql://host/trees").url


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_two_workers_train_the_runs_of_a_server_between_them(on_server, tmp_path):
    store = RunStore(tmp_path)
    problem = problem_in(store)
    ids = [store.create("cart", {"tune": False}, problem) for _ in range(8)]
    command = [sys.executable, "-m", "treelab", "worker", "--home", str(tmp_path)]
    workers = [
        subprocess.Popen([*command, "--slot", slot]) for slot in ("quick", "cpu:0")
    ]
    try:
        until = time.monotonic() + 120
        while {w.state for w in store.worker_registry.workers()} != {"idle"}:
            assert time.monotonic() < until
            time.sleep(0.2)
        for run_id in ids:
            store.submit(run_id)
        while not all(store.run(run_id).is_finished for run_id in ids):
            assert time.monotonic() < until
            time.sleep(0.2)
    finally:
        for worker in workers:
            worker.terminate()
            worker.wait(20)
    runs = [store.run(run_id) for run_id in ids]
    assert {(run.state, run.attempts, run.has_model) for run in runs} == {
        ("done", 1, True)
    }


def test_a_table_that_the_server_lost_is_a_sentence(on_server, tmp_path):
    store = RunStore(tmp_path)
    with writing(store.database) as db:
        db.execute("DROP TABLE runs")
    with pytest.raises(StoreError, match=r"is damaged.*pg_restore"):
        store.runs()
