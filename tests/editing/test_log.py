"""Edits as data: what is written is read again, and nothing else is."""

from datetime import date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.editing.tables import fitted, table
from treelab.editing.edits import (
    Allow,
    Edit,
    Forbid,
    Lock,
    Prefer,
    Prune,
    SetSplit,
    SetThreshold,
    Unlock,
    edit_from_dict,
)
from treelab.editing.log import EditLog, Session, Training, tree_hash
from treelab.trees.dates import last_before, moment_after

PATHS = st.text("LR", max_size=6)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
CATEGORIES = st.lists(st.text(), min_size=1, max_size=3, unique=True).map(tuple)
EDITS = st.one_of(
    st.builds(
        SetSplit, PATHS, st.text(), threshold=NUMBERS, missing_left=st.booleans()
    ),
    st.builds(
        SetSplit, PATHS, st.text(), categories=CATEGORIES, missing_left=st.booleans()
    ),
    st.builds(SetThreshold, PATHS, NUMBERS, is_date=st.booleans()),
    *(st.builds(kind, PATHS, st.text()) for kind in (Forbid, Prefer, Allow)),
    *(st.builds(kind, PATHS, st.booleans()) for kind in (Lock, Unlock)),
    st.builds(Prune, PATHS),
)
TRAININGS = st.none() | st.builds(
    Training,
    st.sampled_from(["gradtree", "get", "cart"]),
    PATHS,
    st.none() | st.integers(2, 64),
)


@settings(max_examples=60)
@given(st.lists(EDITS, max_size=6).map(tuple), TRAININGS, st.none() | st.integers(0, 9))
def test_a_log_is_read_as_it_was_written(edits, training, seen_test):
    log = EditLog("0123", edits, training, seen_test, "cart-abc")
    assert EditLog.from_json(log.to_json()) == log


@given(EDITS)
@settings(max_examples=40)
def test_every_edit_is_a_sentence(edit: Edit):
    assert edit.sentence().endswith(".")


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (1234567.75, "1,234,567.75"),
        (2.9999999, "2.9999999"),
        (0.8, "0.8"),
        (-5.125, "−5.125"),
        (1 / 3, "0.333333333"),
    ],
)
def test_a_threshold_is_written_so_that_values_keep_their_side(threshold, words):
    moved = SetThreshold("L", threshold)
    assert moved.sentence() == f"At L: threshold moved to {words}."
    assert SetSplit("", "a", threshold).sentence().endswith(f"split by a ≤ {words}.")


def test_a_threshold_that_is_a_time_is_written_as_one():
    split = SetSplit("", "begun", 17 + 2 / 60, is_time=True)
    assert split.sentence() == "At the root: split by begun ≤ 17:02."
    moved = SetThreshold("L", 17.5, is_time=True)
    assert moved.sentence() == "At L: threshold moved to 17:30."


def test_a_threshold_that_is_a_date_is_written_as_one():
    day = date(2020, 4, 3)
    split = SetSplit("", "sold", last_before(day), is_date=True)
    assert split.sentence() == "At the root: split by sold before 3 April 2020."
    moved = SetThreshold("L", last_before(day), True)
    assert moved.sentence() == "At L: threshold moved to before 3 April 2020."
    assert moment_after(last_before(day)) == day < moment_after(last_before(day) + 1e-9)
    time = last_before(datetime(2020, 4, 3, 8, 57))  # said to be before 4 April
    split = SetSplit("", "sold", time, is_date=True)
    assert split.sentence() == "At the root: split by sold before 3 April 2020 08:57."
    assert moment_after(time, "m") == datetime(2020, 4, 3, 8, 57)


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ({"kind": "burn", "path": ""}, "one of split, threshold"),
        ({"kind": "prune", "path": "LX"}, "letters L and R"),
        ({"kind": "prune"}, "has 'path', and lacks path"),
        ({"kind": "prune", "path": "", "column": "age"}, "has no column"),
        ({"kind": "threshold", "path": "", "threshold": "3"}, "must be a number"),
        ({"kind": "threshold", "path": "", "threshold": float("nan")}, "finite"),
        ({"kind": "split", "path": "", "column": "age"}, "a threshold or categories"),
        ({"kind": "split", "path": "", "column": "job", "categories": []}, "at least"),
        ({"kind": "lock", "path": "", "below": 1}, "true or false"),
        ("lock", "kind"),
    ],
)
def test_what_is_no_edit_is_refused_with_its_reason(stored, words):
    with pytest.raises(ValueError, match=words):
        edit_from_dict(stored)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 1}',
        '{"version": 2, "edits": []}',
        '{"version": 1, "edits": [], "training": {"learner": "forest"}}',
        '{"version": 1, "edits": [], "training": {"learner": "cart"}}',
        '{"version": 1, "edits": [], "training": {"who": "cart"}}',
    ],
)
def test_what_is_no_log_is_refused(text):
    with pytest.raises(ValueError, match=r"log|version|training|CART|learner"):
        EditLog.from_json(text)


def test_a_hand_written_edit_is_refused_with_what_a_log_looks_like():
    with pytest.raises(ValueError, match=r'such as .*"edits": \[.*"path": "LR"'):
        EditLog.from_json('{"kind": "prune", "node": 1}')


def test_undo_and_redo_move_through_the_edits():
    session = Session().do(Lock("")).do(Prune("L"))
    undone = session.undo()
    assert undone.current == (Lock(""),)
    assert undone.can_redo
    assert undone.redo() == session
    assert undone.do(Prune("R")).edits == (Lock(""), Prune("R"))
    assert Session().undo() == Session()
    assert not Session().can_undo


def test_a_threshold_that_is_moved_again_is_one_edit():
    session = Session().do(SetThreshold("L", 1)).do(SetThreshold("L", 2))
    assert session.current == (SetThreshold("L", 2),)
    assert len(session.do(SetThreshold("R", 2)).current) == 2


def test_an_edit_in_the_place_of_another_was_made_after_test_scores_were_seen():
    seen = Session().do(Lock("")).do(SetThreshold("L", 1)).end()
    assert seen.seen_test == 2
    assert seen.undo().do(Prune("R")).seen_test == 1
    assert seen.do(SetThreshold("L", 2)).seen_test == 1
    assert seen.do(Prune("R")).do(Prune("L")).seen_test == 2


def test_equal_trees_have_one_hash_and_others_another():
    frame = table()
    tree = fitted(frame)
    assert tree_hash(tree) == tree_hash(fitted(frame))
    assert tree_hash(tree) != tree_hash(fitted(frame, max_leaf_nodes=5))
    assert tree_hash(tree) == tree_hash(type(tree).from_dict(tree.to_dict()))
