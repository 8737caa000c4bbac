"""Old runs go when somebody cleans, the oldest first; nothing else does."""

import json
import time

import pytest

from tests.runs.care.conftest import finished
from tests.runs.conftest import problem_in, small_table
from treelab.runs.care.doctor import examine
from treelab.runs.care.retention import Limits, clean, plan_cleaning
from treelab.runs.store.database import writing
from treelab.runs.store.files import folder_size
from treelab.runs.store.workers import ProcessId

DAY = 86_400


def make_older(store, days, run_id=None):
    """Move a run, or all tables, back in time."""
    with writing(store.home / "treelab.sqlite") as db:
        if run_id is None:
            db.execute("UPDATE tables SET created = created - ?", (days * DAY,))
        else:
            db.execute(
                "UPDATE runs SET created = created - :s, finished = finished - :s"
                " WHERE id = :id",
                {"s": days * DAY, "id": run_id},
            )


def planned(store, **limits):
    """Titles of the runs, and names of the tables, that would go."""
    plan = plan_cleaning(store, Limits(**limits), time.time())
    return [run.title for run in plan.runs], [info.name for info in plan.tables]


@pytest.fixture
def aged(store):
    """Runs of three ages and one that trains, all on one table."""
    for days in (1, 40, 20):
        make_older(store, days, finished(store, f"{days} days"))
    training = store.create("cart", {}, problem_in(store), title="training")
    store.start(training, ProcessId.here())
    make_older(store, 100, training)
    make_older(store, 50)
    return store


def test_without_limits_nothing_goes(aged):
    assert planned(aged) == ([], [])


def test_runs_of_more_days_go_the_oldest_first(aged):
    assert planned(aged, keep_days=30) == (["40 days"], [])
    assert planned(aged, keep_days=10) == (["40 days", "20 days"], [])
    assert planned(aged, keep_days=0)[0] == ["40 days", "20 days", "1 days"]


def test_the_oldest_runs_go_until_the_rest_fits(aged):
    size = folder_size(aged.home)
    assert planned(aged, most_gb=size / 1e9) == ([], [])
    assert planned(aged, most_gb=(size - 1) / 1e9) == (["40 days"], [])
    assert len(planned(aged, most_gb=0.0)[0]) == 3


def test_a_table_goes_with_its_last_run_unless_it_came_today(store):
    make_older(store, 40, finished(store, "old"))
    assert planned(store, keep_days=30) == (["old"], [])
    make_older(store, 50)
    assert planned(store, keep_days=30) == (["old"], ["small"])
    store.add_table(small_table(50), "new")
    assert planned(store, most_gb=0.0) == (["old"], ["small"])
    problem_in(store)  # came again
    assert planned(store, keep_days=30) == (["old"], [])


@pytest.mark.parametrize("plan", ["edits", "more"])
def test_a_run_stays_with_whose_tree_another_begins(store, plan):
    make_older(store, 40, first := finished(store, "first"))
    later = store.create("cart", {}, problem_in(store), title="later")
    store.add_plan(later, plan, json.dumps({"run": first}))
    assert planned(store, keep_days=30) == ([], [])
    store.request_stop(later)
    assert planned(store, keep_days=30) == (["first"], [])


def test_a_paused_run_stays_and_so_does_the_one_with_whose_tree_it_begins(store):
    make_older(store, 40, first := finished(store, "first"))
    later = store.create("cart", {}, problem_in(store), title="later")
    store.add_plan(later, "edits", json.dumps({"run": first}))
    store.request_pause(later)
    assert store.run(later).state == "paused"
    make_older(store, 40, later)
    assert planned(store, keep_days=30, most_gb=0.0) == ([], [])
    assert store.resume(later)
    store.request_stop(later)
    make_older(store, 40, later)
    assert planned(store, keep_days=30)[0] == ["first", "later"]


def test_a_run_that_was_taken_up_since_it_was_planned_stays(store):
    run_id = store.create("cart", {}, problem_in(store), title="old")
    store.start(run_id, ProcessId.here())
    store.finish(run_id, "interrupted")
    plan = plan_cleaning(store, Limits(keep_days=0), time.time() + DAY)
    assert [run.id for run in plan.runs] == [run_id]
    assert store.resume(run_id)
    assert [*clean(store, plan)] == []
    assert store.run(run_id).state == "queued"


def test_only_a_cleaning_deletes(aged, monkeypatch):
    monkeypatch.setenv("TREELAB_KEEP_DAYS", "30")
    examine(aged.home, repair=True)
    assert len(aged.runs()) == 4
    told = [found.message for found in examine(aged.home, clean=True)]
    assert any("40 days" in message for message in told)
    assert {run.title for run in aged.runs()} == {"training", "1 days", "20 days"}
    assert len(list((aged.home / "runs").iterdir())) == 3


def test_a_folder_beyond_its_limit_is_trouble(aged, monkeypatch):
    monkeypatch.setenv("TREELAB_MOST_GB", "0")
    (found,) = [found for found in examine(aged.home) if found.is_trouble]
    assert found.about == "size"
    assert "3 runs" in found.message


@pytest.mark.parametrize("text", ["a month", "-1", "nan", "inf"])
def test_a_limit_that_is_no_number_is_told(store, run_id, monkeypatch, text):
    monkeypatch.setenv("TREELAB_KEEP_DAYS", text)
    (found,) = [f for f in examine(store.home, clean=True) if f.is_trouble]
    assert "TREELAB_KEEP_DAYS must be a number" in found.message
    assert len(store.runs()) == 1
