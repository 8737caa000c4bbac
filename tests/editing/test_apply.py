"""Edits applied: against plain dictionaries, and by what they promise."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelab
from tests.editing.tables import COLUMNS, fitted, table
from tests.trees.make import shrunk_by_hand
from treelab.editing.apply import apply_edit, apply_edits
from treelab.editing.edited import Edited
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
)
from treelab.editing.limits import EditRows
from treelab.editing.log import EditLog, tree_hash
from treelab.editing.paths import node_of, path_of_key, paths
from treelab.editing.regrow import class_weights, refit
from treelab.trees.cells import CATEGORY
from treelab.trees.text import left_categories

FRAME = table()
TREE = fitted(FRAME)
ROWS = EditRows(TREE, FRAME[COLUMNS], FRAME["label"])
PATHS = paths(TREE)
EDITS = st.one_of(
    st.builds(SetThreshold, st.sampled_from(PATHS), st.floats(-1, 70)),
    st.builds(SetSplit, st.sampled_from(PATHS), st.just("age"), st.floats(18, 80)),
    st.builds(
        SetSplit,
        st.sampled_from(PATHS),
        st.just("job"),
        categories=st.sampled_from([("cook",), ("nurse", "smith")]),
        missing_left=st.booleans(),
    ),
    *(
        st.builds(kind, st.sampled_from(PATHS[:4]), st.sampled_from(COLUMNS))
        for kind in (Forbid, Prefer, Allow)
    ),
    *(st.builds(kind, st.sampled_from(PATHS[1:])) for kind in (Lock, Unlock, Prune)),
)


def applied(edits: list[Edit], start=TREE) -> tuple[Edited, list[Edit]]:
    """The edits that can be applied, one after the other."""
    edited, done = Edited.of(start), []
    for edit in edits:
        try:
            edited = apply_edit(edited, edit, ROWS)
        except ValueError:
            continue
        done.append(edit)
    return edited, done


@settings(max_examples=25)
@given(st.lists(EDITS, max_size=6))
def test_the_log_replayed_gives_the_same_tree(edits):
    edited, done = applied(edits)
    log = EditLog.from_json(EditLog(tree_hash(TREE), tuple(done)).to_json())
    again = apply_edits(type(TREE).from_dict(TREE.to_dict()), log.edits, ROWS)
    assert tree_hash(refit(again, ROWS)) == tree_hash(refit(edited, ROWS))


@settings(max_examples=25)
@given(st.lists(EDITS, max_size=6))
def test_locked_splits_stay_and_forbidden_columns_go(edits):
    edited, _ = applied([Lock("R"), *edits])
    tree = refit(edited, ROWS)
    if "R" in edited.locked and "R" in paths(tree):
        there, here = node_of(TREE, "R"), node_of(tree, "R")
        assert tree.threshold[here] == TREE.threshold[there]
        assert tree.feature[here] == TREE.feature[there]
    for path in paths(tree):
        columns = edited.columns_of(node_of(edited.tree, path))
        assert not columns & edited.forbidden_at(path)


def walk(rules: dict, row: dict) -> str:
    """The leaf that one row reaches, by plain if and else."""
    path = ""
    while path in rules:
        column, threshold, categories, missing_left = rules[path]
        value = row[column]
        if value != value:
            left = missing_left
        elif categories is not None:
            left = value in categories
        else:
            left = value <= threshold
        path += "L" if left else "R"
    return path


def rules_of(tree) -> dict:
    """A tree as a plain dictionary by path."""
    found = {}
    for path in paths(tree):
        node = node_of(tree, path)
        if tree.is_leaf[node]:
            continue
        feature = tree.features[tree.feature[node]]
        names = left_categories(tree, node) if feature.kind == "category" else None
        threshold, missing = tree.threshold[node], bool(tree.missing_left[node])
        found[path] = feature.column, threshold, names, missing
    return found


@settings(max_examples=25)
@given(
    st.lists(EDITS, max_size=5).map(
        lambda edits: [e for e in edits if isinstance(e, SetSplit | SetThreshold)]
    )
)
def test_rows_and_leaves_are_those_of_plain_dictionaries(edits):
    edited, done = applied(edits)
    rules = rules_of(TREE)
    for edit in done:
        if isinstance(edit, SetThreshold):
            column, _, _, missing = rules[edit.path]
            rules[edit.path] = column, edit.threshold, None, missing
            if column == "job":  # its scores' threshold: read it from the tree
                rules[edit.path] = rules_of(edited.tree)[edit.path]
        else:
            rules[edit.path] = (
                edit.column,
                edit.threshold,
                edit.categories,
                edit.missing_left,
            )
    tree = refit(edited, ROWS)
    reached = [walk(rules, row) for row in FRAME[COLUMNS].to_dict("records")]
    named = paths(tree)
    assert [named[leaf] for leaf in tree.apply(FRAME[COLUMNS])] == reached
    labels = FRAME["label"].to_numpy()
    for path in set(reached):
        own = labels[np.array(reached) == path]
        node = node_of(tree, path)
        assert tree.class_counts[node, 1] == (own == "yes").sum()
        assert tree.value[node] == pytest.approx(shrunk_by_hand(tree, node))
        assert tree.n_rows[node] == len(own)


def test_leaves_that_no_edit_touched_predict_what_they_did():
    tree = fitted(FRAME, class_weight="balanced")
    edited = apply_edits(tree, [Prune("L")], ROWS)
    after = refit(edited, ROWS)
    for path in paths(after):
        if path.startswith("R"):
            assert (
                after.value[node_of(after, path)] == tree.value[node_of(tree, path)]
            ).all()
    # The new leaf is weighted as the others are.
    weights = class_weights(tree)
    assert weights.min() < 1
    node = node_of(after, "L")
    assert after.predicted_class[node] == (after.class_counts[node] * weights).argmax()
    assert after.value[node] == pytest.approx(shrunk_by_hand(after, node))


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([Lock(""), SetThreshold("", 0.0)], "is locked; unlock it first"),
        ([Lock("L"), Prune("")], "is locked"),
        ([Forbid("", "age"), SetSplit("L", "age", 40.0)], "is forbidden at L"),
        ([SetSplit("L", "income", 400.0)], "would send all .* left"),
        ([SetSplit("L", "size", 4.0)], "no column 'size'"),
        ([SetSplit("L", "job", 4.0)], "needs categories"),
        ([SetSplit("L", "age", categories=("cook",))], "needs a threshold"),
        ([SetSplit("L", "job", categories=("king",))], "no category 'king'"),
        ([Prune("LLLLLL")], "no node"),
        ([Prune("L"), Prune("L")], "a leaf already"),
        ([Unlock("")], "not locked"),
        ([Allow("", "age")], "neither forbidden nor preferred"),
        ([Lock("", True), Forbid("", "income")], "locked"),
        ([Forbid("", "age"), Prefer("L", "age")], "forbidden"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_reason(edits, words):
    with pytest.raises(ValueError, match=f"Edit {len(edits)} .*{words}"):
        apply_edits(TREE, edits, ROWS)


@pytest.mark.parametrize("preferred", [["age"], ["job"], ["income", "age"]])
def test_a_preferred_split_is_found_as_among_all_candidates(preferred):
    edited = apply_edits(TREE, [Prefer("", column) for column in preferred], ROWS)
    for path in edited.splits_below(""):
        best = edited.best(path, edited.candidates(path, ROWS))
        wanted = best if best is not None and best.column in preferred else None
        assert edited.preferred_split(path, ROWS) == wanted


def test_a_preferred_column_is_taken_where_it_gains_half_of_the_best():
    free = Edited.of(TREE).candidates("", ROWS)
    gains = {candidate.column: candidate.gain for candidate in free}
    for column, gain in gains.items():
        edited = apply_edits(TREE, [Prune("L"), Prune("R"), Prefer("", column)], ROWS)
        takes = gain >= max(gains.values()) / 2
        assert (edited.columns_of(0) == {column}) == takes


def test_a_new_set_of_categories_is_read_as_training_rows_were():
    features = tuple(
        replace(own, form=CATEGORY) if own.kind == "category" else own
        for own in TREE.features
    )
    split = SetSplit("", "job", categories=("nurse", "smith"), missing_left=False)
    edits = [split, Prune("L"), Prune("R")]
    tree = apply_edits(replace(TREE, features=features), edits, ROWS).tree
    assert len(tree.features) > len(features)
    sides = tree.margin(FRAME[:1].assign(job=" smith")[COLUMNS])
    assert sides[0, 0] >= 0


def test_paths_are_the_viewers_keys_in_letters():
    assert path_of_key("010") == "LRL"


@pytest.mark.parametrize("are_named", [True, False])
def test_an_imported_tree_of_categories_is_edited_too(are_named):
    lightgbm = pytest.importorskip("lightgbm")
    jobs = table()["job"].astype("category")
    frame = pd.DataFrame({"job": jobs if are_named else jobs.cat.codes})
    names = ("cook", "pilot") if are_named else ("0", "2")
    options = {"min_data_per_group": 1, "cat_smooth": 0, "verbose": -1}
    model = lightgbm.LGBMRegressor(n_estimators=1, num_leaves=3, **options)
    model.fit(frame, jobs.cat.codes % 3, categorical_feature=["job"])
    tree = treelab.from_lightgbm(model).with_rows(frame, jobs.cat.codes)
    rows = EditRows(tree, frame, jobs.cat.codes)
    edited = refit(apply_edits(tree, [SetSplit("", "job", None, names)], rows), rows)
    assert edited.n_rows[edited.left[0]] == jobs.isin(["cook", "pilot"]).sum()
