"""Trees after each edit, made once: the tree, its leaves fitted, its scores."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from treelab.editing.apply import apply_edit
from treelab.editing.candidates import Candidate
from treelab.editing.edited import Edited
from treelab.editing.edits import Edit, edit_from_dict
from treelab.editing.regrow import class_weights, refit, refit_all
from treelab.editing.replay import Bench
from treelab.evaluation.splits import headline_scores
from treelab.runs.jobs.edited import bench_of, run_constraints
from treelab.trees.constraints import with_order
from treelab.trees.tree import Tree


@dataclass(frozen=True, eq=False)
class EditedTree:
    """A tree after some edits.

    Attributes
    ----------
    edited : Edited
    tree : Tree
        Its leaves fitted to the rows that the first tree was fitted to.
    valid : float
        Headline score on validation rows of the tree with all leaves fitted to the
        training rows alone.
    """

    edited: Edited
    tree: Tree
    valid: float


def bench(loaded: LoadedRun) -> Bench:
    """Return the run's tree and the rows by which it is edited."""
    return _bench(*loaded.key, loaded)


def after(loaded: LoadedRun, edits: Sequence[Edit]) -> EditedTree:
    """Return the run's tree after some edits.

    Raises
    ------
    ValueError
        If one of them cannot be applied.
    """
    return _after(*loaded.key, _written(edits), loaded)


def candidates_at(
    loaded: LoadedRun, edits: Sequence[Edit], path: str
) -> list[Candidate]:
    """Return the best split of each column that is allowed at a node."""
    return _candidates(*loaded.key, _written(edits), path, loaded)


def test_score(loaded: LoadedRun, tree: Tree) -> float:
    """Return a tree's headline score on the test rows."""
    rows = loaded.split.rows("test")
    return headline_scores([tree], loaded.run.problem.task, *rows)[0]


def _written(edits: Sequence[Edit]) -> tuple[str, ...]:
    """Write edits as text, by which caches know them."""
    return tuple(json.dumps(edit.to_dict()) for edit in edits)


@st.cache_resource(show_spinner="Reading the rows…", max_entries=8)
def _bench(home: Path, run_id: str, epoch, _loaded: LoadedRun) -> Bench:
    """``bench``, by values that name it."""
    return bench_of(_loaded.model, _loaded.split, run_constraints(_loaded.run))


@st.cache_resource(show_spinner=False, max_entries=256)
def _after(
    home: Path, run_id: str, epoch, edits: tuple[str, ...], _loaded: LoadedRun
) -> EditedTree:
    """``after``, by values that name it; each edit is applied to those before it."""
    table = bench(_loaded)
    edited = Edited.of(table.tree, table.constraints)
    if edits:
        before = _after(home, run_id, epoch, edits[:-1], _loaded).edited
        edited = apply_edit(before, edit_from_dict(json.loads(edits[-1])), table.train)
    weights = class_weights(table.tree)
    score = headline_scores(
        [with_order(refit_all(edited.tree, table.train, weights), table.constraints)],
        _loaded.run.problem.task,
        *_loaded.split.rows("valid"),
    )[0]
    return EditedTree(edited, refit(edited, table.fitted), score)


@st.cache_resource(show_spinner=False, max_entries=128)
def _candidates(
    home: Path, run_id: str, epoch, edits: tuple[str, ...], path: str, _loaded
) -> list[Candidate]:
    """``candidates_at``, by values that name it."""
    edited = _after(home, run_id, epoch, edits, _loaded).edited
    return edited.candidates(path, bench(_loaded).train)
