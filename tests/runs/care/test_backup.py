"""A backup holds everything, is made while in use, and cannot write elsewhere."""

import shutil
import sqlite3
import threading
import zipfile
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from tests.runs.care.conftest import finished, stump
from tests.runs.conftest import problem_in
from treelab.runs.care import backup
from treelab.runs.care.backup import back_up, restore
from treelab.runs.care.doctor import examine
from treelab.runs.store.database import StoreError, change, writing
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.workers import ProcessId
from treelab.training.events import Progress


@pytest.fixture
def file(store, run_id, tmp_path):
    """A backup with a run."""
    file = tmp_path / "a.zip"
    back_up(store.home, file)
    return file


def rewritten(file, change):
    """The same backup, its files (a dict of bytes) changed."""
    with zipfile.ZipFile(file) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    change(content)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            archive.writestr(name, text)


def test_what_comes_back_is_what_was_there(store, run_id, tmp_path):
    store.add_events(run_id, [Progress(1, 1, 0.5, 0.6, 0.1)])
    store.add_snapshot(run_id, 1, stump())
    made = back_up(store.home, tmp_path / "a.zip")
    assert (made.n_runs, made.n_tables) == (1, 1)
    assert restore(tmp_path / "a.zip", tmp_path / "new").n_runs == 1
    new = RunStore(tmp_path / "new")
    assert new.run(run_id) == store.run(run_id)
    assert new.model(run_id).to_dict() == stump().to_dict()
    assert new.snapshots(run_id) == [1]
    pd.testing.assert_frame_equal(new.events(run_id), store.events(run_id))
    table_id = store.tables()[0].id
    pd.testing.assert_frame_equal(new.table(table_id), store.table(table_id))
    assert not [found for found in examine(new.home) if found.is_trouble]
    files = [path for path in new.home.rglob("*") if path.is_file()]
    assert not any(path.stat().st_mode & 0o077 for path in (new.home, *files))
    assert (tmp_path / "a.zip").stat().st_mode & 0o077 == 0


def test_a_backup_is_whole_while_others_write(store, tmp_path):
    end = threading.Event()

    def work():
        while not end.is_set():
            finished(store)

    writer = threading.Thread(target=work)
    writer.start()
    try:
        for k in range(5):
            back_up(store.home, tmp_path / f"{k}.zip")
    finally:
        end.set()
        writer.join()
    for k in range(5):
        restore(tmp_path / f"{k}.zip", tmp_path / f"new-{k}")
        new = RunStore(tmp_path / f"new-{k}")
        for run in new.runs():
            assert run.is_finished
            if run.state == "done":
                assert new.model(run.id).to_dict() == stump().to_dict()


def test_a_first_run_that_begins_meanwhile_is_left_out(store, tmp_path, monkeypatch):
    def copy_then_run(source, target):
        copied(source, target)
        finished(store)

    copied = backup._copy_database
    monkeypatch.setattr(backup, "_copy_database", copy_then_run)
    assert back_up(store.home, tmp_path / "a.zip").n_runs == 0
    assert restore(tmp_path / "a.zip", tmp_path / "new").n_runs == 0
    assert not list((tmp_path / "new").rglob("model.json"))


def test_runs_under_way_are_interrupted_in_the_copy_alone(store, tmp_path):
    running = store.create("cart", {}, problem_in(store))
    store.start(running, ProcessId.here())
    change(store.database, "UPDATE runs SET started = 1000, heartbeat = 1042")
    store.worker_registry.register("cpu:0", ProcessId.here())
    back_up(store.home, tmp_path / "a.zip")
    restore(tmp_path / "a.zip", tmp_path / "new")
    new = RunStore(tmp_path / "new")
    assert new.run(running).state == "interrupted"
    assert new.run(running).elapsed == 42
    assert new.worker_registry.workers() == []
    assert store.run(running).state == "running"


def test_a_failed_backup_leaves_the_older_one(store, file, tmp_path, monkeypatch):
    before = file.read_bytes()
    monkeypatch.setattr(zipfile.ZipFile, "write", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        back_up(store.home, file)
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "home"]


@pytest.mark.parametrize("what", ["database", "zip file"])
def test_the_disk_that_is_full_is_that_of_the_backup(store, file, monkeypatch, what):
    connect = sqlite3.connect

    def small(path, **options):
        db = connect(path, **options)
        if not options:  # the copy alone
            db.execute("PRAGMA max_page_count=2")
        return db

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    if what == "database":
        monkeypatch.setattr(sqlite3, "connect", small)
    else:
        monkeypatch.setattr(backup, "ZipFile", full)
    with pytest.raises(OSError, match="No space left") as error:
        back_up(store.home, file)
    assert error.value.filename == str(file)
    monkeypatch.undo()
    assert restore(file, file.with_name("again"))


def test_a_folder_with_files_is_refused(store, file, tmp_path):
    with pytest.raises(FileExistsError, match="is not empty"):
        restore(file, store.home)
    (tmp_path / "empty").mkdir()
    assert restore(file, tmp_path / "empty").n_runs == 1


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "/evil",
        "runs/../../evil",
        "runs/a/../../../evil",
        "runs/a/.evil",
        "runs\\..\\evil",
        "tables/evil.parquet",
        "evil",
        "runs/a/",
    ],
)
def test_files_of_other_names_are_refused(file, tmp_path, name):
    rewritten(file, lambda content: content.update({name: b"x"}))
    with pytest.raises(ValueError, match="no backup of treelab"):
        restore(file, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "home"]


def test_a_small_file_that_unpacks_to_much_is_refused(file, tmp_path):
    bomb = {"runs/cart-a/log.txt": b"0" * 10**7}
    rewritten(file, lambda content: content.update(bomb))
    assert file.stat().st_size < 10**5
    with pytest.raises(
        ValueError, match=r"0\.0 GB unpacked, and there is room for 0\.0"
    ):
        restore(file, tmp_path / "new", most_bytes=10**6)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda content: content.pop("treelab.sqlite"), "no backup of treelab"),
        (
            lambda content: content.update({"treelab.sqlite": b"text" * 2000}),
            "its database is damaged",
        ),
    ],
)
def test_what_is_no_backup_is_refused(file, tmp_path, change, sentence):
    rewritten(file, change)
    with pytest.raises(ValueError, match=sentence):
        restore(file, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_damaged_file_is_refused(file, tmp_path):
    content = bytearray(file.read_bytes())
    content[200:400] = bytes(200)
    file.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        restore(file, tmp_path / "new")
    file.write_bytes(b"no zip")
    with pytest.raises(ValueError, match="damaged"):
        restore(file, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("run_id", ["../../elsewhere", "/elsewhere", "", ".."])
def test_a_run_whose_id_leads_elsewhere_is_refused(store, run_id, tmp_path):
    finished(store)
    with writing(store.home / "treelab.sqlite") as db:
        db.execute("UPDATE runs SET id = ?", (run_id,))
    back_up(store.home, tmp_path / "a.zip", anyway=True)
    with pytest.raises(ValueError, match="it names 'runs/"):
        restore(tmp_path / "a.zip", tmp_path / "new", anyway=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "home"]


def test_a_run_that_waits_still_has_its_folder(store, tmp_path):
    run_id = store.create("cart", {}, problem_in(store))
    store.submit(run_id)
    back_up(store.home, tmp_path / "a.zip")
    restore(tmp_path / "a.zip", tmp_path / "new")
    new = RunStore(tmp_path / "new")
    assert new.queued() == [run_id]
    assert new.folder(run_id).is_dir()


def table_file(store):
    """The file of the only table."""
    return store.home / "tables" / f"{store.tables()[0].id}.parquet"


def damage_database(home, page=2):
    """Overwrite a page of the database, as a failing disk does."""
    path = home / "treelab.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[4096 * (page - 1) : 4096 * page] = b"x" * 4096
    path.write_bytes(content)


def empty_database(home):
    """Delete all runs behind the store's back."""
    with writing(home / "treelab.sqlite") as db:
        db.execute("DELETE FROM runs")


def drop_events(home):
    """A database that lacks a table."""
    with writing(home / "treelab.sqlite") as db:
        db.execute("DROP TABLE events")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (damage_database, "database"),
        (drop_events, "no such table: events"),
        (lambda home: (home / "treelab.sqlite").write_bytes(b""), "no such table"),
        (lambda home: (home / "treelab.sqlite").write_bytes(b"x" * 9999), "damaged"),
        (empty_database, "the list of runs"),
    ],
)
def test_a_damaged_database_replaces_no_backup(store, file, damage, words):
    before = file.read_bytes()
    damage(store.home)
    with pytest.raises(StoreError, match=words):
        back_up(store.home, file)
    assert file.read_bytes() == before
    assert sorted(path.name for path in file.parent.iterdir()) == ["a.zip", "home"]


def cut(path):
    """Leave the first half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    """Change one byte in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("change", [cut, flip, Path.unlink])
def test_a_damaged_table_replaces_no_backup(store, file, tmp_path, change):
    before = file.read_bytes()
    change(table_file(store))
    with pytest.raises(StoreError, match="the table 'small' cannot be read"):
        back_up(store.home, file)
    assert file.read_bytes() == before
    made = back_up(store.home, file, anyway=True)
    assert list(made.damage.values()) == ["the table 'small'"]
    with pytest.raises(ValueError, match="the table 'small' cannot be read"):
        restore(file, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    restored = restore(file, tmp_path / "new", anyway=True)
    assert (restored.n_runs, len(restored.damage)) == (1, 1)
    assert RunStore(tmp_path / "new").runs()[0].has_model


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
@pytest.mark.parametrize("change", [cut, flip, Path.unlink])
def test_a_damaged_model_replaces_no_backup(store, run_id, file, change, name):
    before = file.read_bytes()
    change(store.folder(run_id) / "model" / name)
    with pytest.raises(StoreError, match=r"what the run .* saved cannot be read"):
        back_up(store.home, file)
    assert file.read_bytes() == before
    store.delete(run_id)
    back_up(store.home, file)
    assert file.read_bytes() != before


def test_a_model_of_another_run_replaces_no_backup(store, run_id, file):
    before, other = file.read_bytes(), finished(store)
    shutil.rmtree(store.folder(run_id) / "model")
    shutil.copytree(store.folder(other) / "model", store.folder(run_id) / "model")
    with pytest.raises(StoreError, match=r"what the run .* saved cannot be read"):
        back_up(store.home, file)
    assert file.read_bytes() == before


def test_of_a_zip_file_that_lost_some_bytes_the_rest_is_restored(file, tmp_path):
    with zipfile.ZipFile(file) as archive:
        (entry,) = [e for e in archive.infolist() if e.filename.startswith("tables/")]
    content = bytearray(file.read_bytes())
    middle = entry.header_offset + 200
    content[middle : middle + 20] = bytes(20)
    file.write_bytes(content)
    with pytest.raises(ValueError, match="--anyway restores the rest"):
        restore(file, tmp_path / "new")
    assert len(restore(file, tmp_path / "new", anyway=True).damage) == 1
    assert RunStore(tmp_path / "new").runs()[0].has_model


def test_a_first_run_that_ends_while_a_backup_is_made_is_no_damage(
    store, tmp_path, monkeypatch
):
    copied = backup._copy_database

    def copy(*paths):
        copied(*paths)
        finished(store)

    monkeypatch.setattr(backup, "_copy_database", copy)
    assert back_up(store.home, tmp_path / "a.zip").damage == {}
