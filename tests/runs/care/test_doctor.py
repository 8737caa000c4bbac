"""The doctor finds what is wrong, mends what is safe, and removes no model."""

import shutil
import sqlite3

import pandas as pd
import pytest

from tests.runs.care.conftest import dead_process, finished, stump
from tests.runs.conftest import problem_in
from treelab.runs.care import doctor as leftovers
from treelab.runs.care.doctor import examine
from treelab.runs.store.database import StoreError, writing


def trouble(store, repair=False):
    """What is wrong, as text, by what it is about."""
    found = examine(store.home, repair=repair)
    return [f"{f.about}: {f.message}" for f in found if f.is_trouble]


def mended(store):
    """What a repair did."""
    found = examine(store.home, repair=True)
    return [f"{f.about}: {f.message} {f.remedy}" for f in found if f.is_mended]


def test_a_healthy_store_has_no_trouble(store, run_id):
    assert trouble(store) == []
    about = {finding.about for finding in examine(store.home)}
    assert {"database", "tables", "runs", "workers", "disk", "versions"} <= about


def test_no_store_is_an_error_and_none_is_made(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no run store"):
        examine(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_damaged_database_is_found_and_left(store, run_id):
    path = store.home / "treelab.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    content = bytearray(path.read_bytes())
    content[4096:8192] = b"x" * 4096
    path.write_bytes(content)
    assert any("damaged" in text for text in trouble(store, repair=True))
    assert path.read_bytes()[:8192] == content[:8192]
    assert (store.folder(run_id) / "model").is_dir()


def test_a_lost_model_is_found_and_the_row_set_right(store, run_id):
    shutil.rmtree(store.folder(run_id) / "model")
    assert "lacks a model" in trouble(store)[0]
    assert store.run(run_id).has_model
    assert "The row is set right." in mended(store)[0]
    assert not store.run(run_id).has_model
    assert trouble(store) == []


def test_a_model_that_the_row_does_not_know_is_found_again(store, run_id):
    with writing(store.home / "treelab.sqlite") as db:
        db.execute("UPDATE runs SET has_model = 0")
    assert "has a model" in mended(store)[0]
    assert store.run(run_id).has_model


def test_a_model_that_cannot_be_read_stays_where_it_is(store, run_id):
    broken = store.folder(run_id) / "model" / "model.json"
    broken.write_text("{")
    assert "cannot be read" in trouble(store, repair=True)[0]
    assert broken.read_text() == "{"
    assert store.run(run_id).has_model


def test_a_bit_that_flipped_in_a_model_is_found(store, run_id):
    arrays = store.folder(run_id) / "model" / "model.safetensors"
    content = bytearray(arrays.read_bytes())
    content[-1] ^= 1
    arrays.write_bytes(content)
    (found,) = trouble(store, repair=True)
    assert "its files are not as they were saved" in found
    assert arrays.read_bytes() == content


def test_a_model_that_another_run_saved_is_named(store, run_id):
    other = finished(store)
    model = store.folder(run_id) / "model"
    shutil.rmtree(model)
    shutil.copytree(store.folder(other) / "model", model)
    (found,) = trouble(store)
    assert f"run {run_id}: " in found
    assert f"is that of the run '{other}'" in found


def test_a_model_that_was_not_put_in_its_place_is_put_there(store, run_id):
    folder = store.folder(run_id)
    (folder / "model").rename(folder / "model.part")
    assert len(mended(store)) == 1
    assert store.model(run_id).to_dict() == stump().to_dict()
    assert trouble(store) == []


@pytest.mark.parametrize("name", ["model", "path", "rashomon"])
def test_trees_that_were_not_put_in_their_place_are_put_there(store, run_id, name):
    folder = store.folder(run_id)
    shutil.copytree(folder / "model", folder / f"{name}.part")
    shutil.rmtree(folder / name, ignore_errors=True)
    assert "was not put in its place" in mended(store)[0]
    assert (folder / name / "model.json").exists()
    assert trouble(store) == []


def test_trees_that_score_alike_and_cannot_be_read_are_found(store, run_id):
    folder = store.folder(run_id)
    shutil.copytree(folder / "model", folder / "rashomon")
    (folder / "rashomon" / "model.json").write_text("{")
    (found,) = trouble(store)
    assert "Its trees that score alike cannot be read" in found


def test_a_run_that_was_cut_off_before_its_scores_is_no_trouble(store):
    run_id = store.create("cart", {}, problem_in(store))
    assert store.start(run_id, dead_process())
    store.add_model(run_id, stump())
    assert len(store.interrupt_dead_runs()) == 1
    assert trouble(store, repair=True) == []
    told = [finding.message for finding in examine(store.home)]
    words = "It is interrupted: its model was saved, and its scores were not."
    assert f"{words} Resume it, or train it again." in told
    assert not store.run(run_id).has_model
    with pytest.raises(LookupError, match=r"no model.* Resume it, or train"):
        store.model(run_id)


def test_of_two_whole_models_none_is_removed(store, run_id):
    folder = store.folder(run_id)
    shutil.copytree(folder / "model", folder / "model.part")
    assert "one in its place" in trouble(store, repair=True)[0]
    assert (folder / "model.part" / "model.json").exists()


def test_leftovers_are_removed_once_they_are_old(store, run_id, monkeypatch):
    folder = store.folder(run_id)
    (folder / "model.part").mkdir()
    (folder / "snapshots").mkdir()
    (folder / "snapshots" / "1.part").write_text("{")
    for name in ("rashomon.part", "snapshots.part", "snapshots.old"):
        (folder / name).mkdir()
        (folder / name / "00001.0000.json").write_text("{")
    (folder / "edits.12.part").write_text("{")
    (store.home / "tables" / f"{'a' * 64}.12.part").write_text("PAR")
    (store.home / "runs" / "cart-gone").mkdir()
    (store.home / "runs" / "cart-gone" / "log.txt").write_text("Traceback")
    monkeypatch.setattr(leftovers, "OLD_SECONDS", 60.0)
    assert trouble(store, repair=True) == []
    monkeypatch.setattr(leftovers, "OLD_SECONDS", -1.0)
    assert len(trouble(store)) == 8
    assert len(mended(store)) == 8
    assert not list(store.home.rglob("*.part"))
    assert not (folder / "snapshots.old").exists()
    assert not (store.home / "runs" / "cart-gone").exists()
    assert trouble(store) == []


def test_a_folder_of_no_run_stays_when_it_holds_a_model(store, run_id):
    with writing(store.home / "treelab.sqlite") as db:
        db.execute("DELETE FROM runs")
    assert "belongs to no run" in trouble(store, repair=True)[1]
    assert (store.folder(run_id) / "model" / "model.json").exists()


def test_tables_that_are_lost_or_changed_are_found(store, run_id):
    path = store.home / "tables" / f"{store.run(run_id).problem.table_id}.parquet"
    content = path.read_bytes()
    path.write_bytes(content + b"x")
    assert "is damaged" in trouble(store, repair=True)[0]
    part = path.with_suffix(".7.part")
    path.unlink()
    assert "is gone" in trouble(store, repair=True)[0]
    part.write_bytes(content)
    assert "put there" in mended(store)[0]
    assert trouble(store) == []
    assert len(store.table(path.stem)) == 120


def test_dead_runs_and_workers_are_ended(store):
    run_id = store.create("cart", {}, problem_in(store))
    assert store.start(run_id, dead_process())
    store.worker_registry.register("cpu:0", dead_process())
    assert len(trouble(store)) == 2
    assert store.run(run_id).state == "running"
    assert len(mended(store)) == 2
    assert store.run(run_id).state == "interrupted"
    assert store.worker_registry.workers() == []


def test_a_row_that_cannot_be_read_does_not_hide_the_others(store, run_id):
    other = finished(store)
    shutil.rmtree(store.folder(other) / "model")
    with writing(store.home / "treelab.sqlite") as db:
        db.execute("UPDATE runs SET problem = '{' WHERE id = ?", (run_id,))
    found = trouble(store)
    assert len(found) == 2
    assert any("row in the database cannot be read" in text for text in found)


def test_one_repair_is_enough(store, run_id):
    folder = store.folder(run_id)
    (folder / "model").rename(folder / "model.part")
    (folder / "model.part" / "model.json").unlink()  # half a model
    assert len(mended(store)) == 2
    assert trouble(store) == []
    assert not (folder / "model.part").exists()
    assert not store.run(run_id).has_model


def test_a_whole_model_that_only_another_treelab_reads_is_not_removed(store, run_id):
    folder = store.folder(run_id)
    (folder / "model").rename(folder / "model.part")
    written = folder / "model.part" / "model.json"
    newer = written.read_text().replace('"version": 1', '"version": 2')
    written.write_text(newer)
    assert "holds a model and stays" in trouble(store, repair=True)[0]
    assert written.read_text() == newer


def test_a_table_that_the_database_lost_is_listed_again(store, run_id):
    before = store.table(table_id := store.tables()[0].id)
    with writing(store.home / "treelab.sqlite") as db:
        db.execute("DELETE FROM tables")
    with pytest.raises(StoreError, match=r"doctor --repair.*lists it again"):
        store.table(table_id)
    assert "does not list" in trouble(store)[0]
    assert "listed again" in mended(store)[0]
    assert trouble(store) == []
    pd.testing.assert_frame_equal(store.table(table_id), before)
    assert (store.tables()[0].n_rows, store.tables()[0].n_columns) == before.shape


def test_a_damaged_table_that_no_list_names_is_not_listed(store, run_id):
    path = store.home / "tables" / f"{'a' * 64}.parquet"
    path.write_bytes(b"no table")
    assert trouble(store) == mended(store) == []
    assert path.exists()


@pytest.mark.parametrize("how", ["emptied", "gone"])
def test_a_lost_database_is_made_anew_and_lists_the_tables(
    store, run_id, how, monkeypatch
):
    path, table_id = store.home / "treelab.sqlite", store.tables()[0].id
    for each in store.home.glob("treelab.sqlite*"):
        each.unlink()
    if how == "emptied":
        path.write_bytes(b"")
    (found,) = trouble(store)
    assert "holds 1 run folder and 1 table. Put a backup in its place" in found
    assert not path.exists() or path.read_bytes() == b""
    monkeypatch.setattr(leftovers, "OLD_SECONDS", 60.0)  # however young all is
    assert len(mended(store)) == 2
    monkeypatch.setattr(leftovers, "OLD_SECONDS", -1.0)
    assert len(store.table(table_id)) == 120
    lost, left = trouble(store)
    assert "lists no run, but" in lost
    assert "belongs to no run" in left
    assert "treelab import" in left
    assert (store.folder(run_id) / "model" / "model.json").exists()
