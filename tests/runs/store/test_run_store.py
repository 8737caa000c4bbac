"""Tables, runs, curves and trees come back from the store as they went in."""

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.runs.conftest import small_table
from treelab.data.problem import Problem
from treelab.data.reading.read_table import read_table
from treelab.learners.cart.estimators import CartClassifier
from treelab.learners.registry import LEARNERS
from treelab.runs.store.database import StoreError, writing
from treelab.runs.store.run_store import MOST_SNAPSHOTS, RunStore
from treelab.runs.store.workers import ProcessId
from treelab.training.events import Progress
from treelab.trees.cells import noted_form
from treelab.trees.text import to_text


def report(epoch, train_loss=0.5, valid_loss=0.6, **more):
    """One report of a training of 10 epochs."""
    return Progress(epoch, 10, train_loss, valid_loss, 0.1 * epoch, **more)


def grown_tree():
    """A small tree."""
    table = small_table()
    return (
        CartClassifier(max_depth=2, tune=False)
        .fit(table[["size", "color"]], table["kind"])
        .tree_
    )


def running(store, problem, learner="slow"):
    """A run that this process has begun."""
    run_id = store.create(learner, {}, problem)
    assert store.start(run_id, ProcessId.here())
    return run_id


@pytest.mark.parametrize("home", ["postgresql://u:p@h/db", Path("mysql://h/db")])
def test_an_address_is_no_folder(home):
    with pytest.raises(StoreError, match="named by TREELAB_STORE") as refused:
        RunStore(home)
    assert "u:p" not in str(refused.value)


def test_a_table_comes_back_as_it_went_in(store):
    table = small_table()
    table["grade"] = pd.Categorical(["a", "b"] * 60)
    table["count"] = pd.array([1, None] * 60, dtype="Int64")
    pd.testing.assert_frame_equal(store.table(store.add_table(table, "t")), table)


def test_dates_are_stored_as_numbers_which_splits_test(store):
    table = pd.DataFrame(
        {"day": [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-07-01")]}
    )
    stored = store.table(store.add_table(table, "t"))
    assert stored["day"].tolist() == pytest.approx([2024, 2024.5], abs=0.01)
    assert noted_form(stored, "day").kind == "date"


def test_the_same_table_is_kept_once_whatever_its_index_and_notes(store):
    first = store.add_table(small_table(), "old name")
    again = small_table().set_index(np.arange(120) + 7)
    again.attrs["source"] = "elsewhere"
    assert store.add_table(again, "new name") == first
    assert [info.name for info in store.tables()] == ["new name"]
    assert (store.tables()[0].n_rows, store.tables()[0].n_columns) == (120, 3)
    assert store.add_table(small_table(119), "other") != first


def test_what_reading_a_file_found_stays_beside_its_table(store):
    read = read_table(b"a;b;y\n1,5;2;p\n2,5;-;q\n", "t.csv")
    table_id = store.add_table(read.frame, "t.csv")
    assert store.table_notes(table_id) == read.notes
    assert any("decimal commas" in note for note in read.notes)
    assert store.add_table(store.table(table_id), "as it was") == table_id
    assert store.table_notes(table_id) == read.notes
    assert store.table_notes(store.add_table(small_table(), "small")) == []
    with pytest.raises(LookupError, match="no table"):
        store.table_notes("other")


@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_damaged_table_is_named_and_mended_by_the_same_again(store, damage):
    table_id = store.add_table(small_table(), "small")
    path = store.home / "tables" / f"{table_id}.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    damaged = {"cut": content[:-9], "changed": content, "gone": None}[damage]
    path.unlink()
    if damaged is not None:
        path.write_bytes(damaged)
    for only in ([], ["kind"]):
        with pytest.raises(StoreError, match=r"'small' cannot be read.*same table"):
            store.table(table_id, only)
    assert store.add_table(small_table(), "small") == table_id
    pd.testing.assert_frame_equal(store.table(table_id), small_table())


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_damaged_model_is_named(store, problem, name):
    run_id = running(store, problem)
    store.add_model(run_id, grown_tree())
    store.finish(run_id, "done", summary={"leaves": 2})
    path = store.folder(run_id) / "model" / name
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    for damaged in (content, content[:40]):
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match=r"saved cannot be read.*train it again"):
            store.model(run_id)
    path.unlink()
    with pytest.raises(StoreError, match=r"lacks model.*train it again"):
        store.model(run_id)


def test_a_folder_that_another_run_saved_is_refused_unless_it_names_no_run(
    store, problem
):
    own, other = (running(store, problem) for _ in range(2))
    for run_id in (own, other):
        store.add_model(run_id, grown_tree())
        store.finish(run_id, "done", summary={"leaves": 2})
    model = store.folder(own) / "model"
    shutil.rmtree(model)
    shutil.copytree(store.folder(other) / "model", model)
    with pytest.raises(StoreError, match=rf"'model' is that of the run '{other}'"):
        store.model(own)
    (model / "run.txt").unlink()  # as earlier versions saved it
    assert to_text(store.model(own)) == to_text(store.model(other))


def test_runs_that_the_database_lost_are_noticed(store, problem):
    run_id = running(store, problem)
    store.add_model(run_id, grown_tree())
    assert store.why_empty() == ""
    with writing(store.database) as db:
        db.execute("DELETE FROM runs")
    assert "lists no run, but" in store.why_empty()
    with pytest.raises(LookupError, match="1 run folder and 1 table"):
        store.run(run_id)


def test_a_column_that_cannot_be_stored_is_named(store):
    table = small_table()
    table["mess"] = pd.Series([1, "two", [3]] * 40, dtype=object)
    with pytest.raises(ValueError, match="'mess'"):
        store.add_table(table, "mess")
    assert store.tables() == []


def test_a_run_has_what_was_asked_and_all_settings(store, problem):
    chosen = {"learning_rate": np.float64(0.5), "pruning_strength": (0.1, 1.0)}
    run = store.run(store.create("argmin", chosen, problem, device="cpu"))
    assert run.problem == problem
    defaults = LEARNERS["argmin"].defaults("binary")
    assert run.settings == {
        **defaults,
        "learning_rate": 0.5,
        "pruning_strength": [0.1, 1],
    }
    assert (run.state, run.device, run.title) == (
        "queued",
        "cpu",
        "Argmin tree · small",
    )
    assert (run.progress, run.elapsed, run.remaining) == (0, 0, None)
    assert not run.is_finished


def test_runs_are_listed_newest_first_and_keep_their_titles(store, problem):
    ids = [store.create("cart", {}, problem, title=f"run {k}") for k in range(5)]
    store.set_title(ids[0], "the first")
    assert [run.id for run in store.runs()] == ids[::-1]
    assert store.runs()[-1].title == "the first"
    assert [run.id for run in RunStore(store.home).runs()] == ids[::-1]


def test_what_does_not_exist_is_refused_by_name(store, problem):
    with pytest.raises(ValueError, match="no learner 'oak'"):
        store.create("oak", {}, problem)
    with pytest.raises(LookupError, match="'nowhere'"):
        store.create("cart", {}, Problem("nowhere", "", "y", ("x",), task="binary"))
    with pytest.raises(LookupError, match="no run 'cart-x'"):
        store.run("cart-x")
    with pytest.raises(LookupError, match="has no model"):
        store.model(store.create("cart", {}, problem))


@pytest.mark.parametrize(
    ("chosen", "named"),
    [
        ({"max_depth": 0}, "max_depth must be"),
        ({"max_depth": "deep"}, "max_depth must be"),
        ({"height": 3}, "CART has no setting 'height'; it has ccp_alpha, class_weight"),
    ],
)
def test_a_setting_that_is_refused_is_named_and_makes_no_run(
    store, problem, chosen, named
):
    with pytest.raises(ValueError, match=named):
        store.create("cart", chosen, problem)
    assert store.runs() == []


@pytest.mark.parametrize("hostile", ["../tables", "..", "/etc", "a' OR '1'='1", ""])
def test_an_id_from_an_address_names_no_file(store, problem, hostile):
    run_id = store.create("cart", {}, problem)
    for ask in (store.run, store.model, store.log, store.snapshots, store.table):
        with pytest.raises(LookupError):
            ask(hostile)
    store.delete(hostile)
    store.request_stop(hostile)
    assert store.run(run_id).state == "queued"
    assert len(store.table(problem.table_id)) == 120


def test_curves_come_back_in_order_and_a_reader_may_ask_for_what_is_new(
    store, problem, monkeypatch
):
    run_id = running(store, problem)
    assert list(store.events(run_id)) == [
        *("epoch", "train_loss", "valid_loss", "seconds", "stage")
    ]
    assert store.add_events(
        run_id, [report(0.5, valid_loss=float("nan"), stage="soft")]
    )
    assert store.add_events(run_id, [report(1), report(2)])
    events = store.events(run_id)
    assert events["epoch"].tolist() == [0.5, 1, 2]
    assert events["stage"].tolist() == ["soft", "training", "training"]
    assert np.isnan(events["valid_loss"][0])
    assert store.events(run_id, after=1)["epoch"].tolist() == [2]
    run = store.run(run_id)
    assert (run.epoch, run.max_epochs, run.progress) == (2, 10, 0.2)
    # Seconds before the first report, at epoch 0.5, are not repeated.
    run = replace(run, first_report=run.started + 5)
    monkeypatch.setattr("treelab.runs.store.run.time.time", lambda: run.started + 8)
    assert (run.elapsed, run.remaining) == pytest.approx((8, 3 * 8 / 1.5))


def test_a_run_that_ended_takes_no_more_points(store, problem):
    run_id = running(store, problem)
    store.add_events(run_id, [report(1)])
    store.finish(run_id, "done", summary={"leaves": 2})
    assert not store.add_events(run_id, [report(2)])
    assert len(store.events(run_id)) == 1


def test_snapshots_are_thinned_but_tell_the_whole_training(store, problem):
    run_id, tree = running(store, problem), grown_tree()
    for epoch in range(1, 200):
        store.add_snapshot(run_id, epoch / 2, tree)
    epochs = store.snapshots(run_id)
    assert len(epochs) <= MOST_SNAPSHOTS
    assert (epochs[0], epochs[-1]) == (0.5, 99.5)
    assert np.diff(epochs).max() <= 4 * 99.5 / MOST_SNAPSHOTS
    shown = store.snapshot(run_id, epochs[3])
    assert to_text(shown) == to_text(tree)
    with pytest.raises(LookupError, match="epoch 1000"):
        store.snapshot(run_id, 1000)


def test_a_model_is_there_once_the_run_has_ended(store, problem):
    run_id, tree = running(store, problem), grown_tree()
    store.add_model(run_id, tree)
    store.add_model(run_id, tree)  # again, over the first
    assert not store.run(run_id).has_model
    metrics = {"test": {"accuracy": np.float64(0.5)}}
    store.finish(run_id, "done", metrics=metrics, summary={"leaves": np.int64(2)})
    assert store.run(run_id).metrics == {"test": {"accuracy": 0.5}}
    X = small_table()[["size", "color"]]
    assert store.model(run_id).predict(X).tolist() == tree.predict(X).tolist()


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_store_of_a_newer_treelab_is_refused(store):
    with sqlite3.connect(store.home / "treelab.sqlite") as db:
        db.execute("PRAGMA user_version=99")
    with pytest.raises(ValueError, match=r"newer treelab \(schema 99"):
        RunStore(store.home)


def test_a_home_that_cannot_be_used_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="TREELAB_HOME"):
        RunStore(tmp_path / "file" / "home")


def test_the_home_is_the_one_in_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("TREELAB_HOME", str(tmp_path / "named"))
    assert RunStore().home == tmp_path / "named"


def test_a_hundred_runs_are_listed_newest_first(store, problem):
    made = [store.create("cart", {}, problem) for _ in range(100)]
    assert [run.id for run in store.runs()] == made[::-1]


@pytest.mark.slow
def test_snapshots_are_replaced_as_a_whole_and_leave_nothing_behind(store, problem):
    run_id = running(store, problem)
    store.add_snapshot(run_id, 1, grown_tree())
    store.add_snapshot(run_id, 2, grown_tree())
    store.replace_snapshots(run_id, {0: grown_tree(), 7: grown_tree()})
    assert store.snapshots(run_id) == [0, 7]
    assert {path.name for path in store.folder(run_id).iterdir()} == {"snapshots"}
    store.replace_snapshots(run_id, {})
    assert store.snapshots(run_id) == []


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_damaged_point_of_a_curve_costs_that_point_alone(store, problem):
    run_id = running(store, problem)
    for epoch in (1, 2, 3):
        store.add_events(run_id, [report(epoch)])
    with writing(store.home / "treelab.sqlite") as db:
        db.execute("UPDATE events SET epoch = 'x' WHERE epoch = 2")
        db.execute("UPDATE events SET train_loss = 'y', stage = x'FE' WHERE epoch = 3")
    events = store.events(run_id)
    assert events["epoch"].tolist() == [1, 3]
    assert events["train_loss"].isna().tolist() == [False, True]
