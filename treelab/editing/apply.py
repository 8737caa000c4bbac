"""A log replayed on a tree, edit after edit, before anything is trained."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from treelab.editing.edited import Edited, below
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
from treelab.editing.limits import EditRows, newly_broken
from treelab.editing.log import EditLog, tree_hash
from treelab.editing.paths import node_of, paths, place_words
from treelab.editing.regrow import refit, why_no_class_weights
from treelab.trees.constraints import Constraints
from treelab.trees.pruning import prune_empty
from treelab.trees.tree import Tree, goes_left, leaf_of, rows_through
from treelab.trees.words import counted


@dataclass(frozen=True, eq=False)
class Bench:
    """A tree and the rows by which it is edited."""

    tree: Tree
    train: EditRows  # training rows, on which splits are chosen
    fitted: EditRows  # rows that the tree was fitted to, and its new leaves are
    constraints: Constraints = field(default_factory=Constraints)  # no edit breaks one

    def start(self) -> EditLog:
        """Return the tree's log without an edit."""
        return EditLog(tree_hash(self.tree))

    def replay(self, log: EditLog) -> Edited:
        """Apply a log's edits.

        ValueError if the log is of another tree, or cannot be applied.
        """
        if log.tree != (own := tree_hash(self.tree)):
            raise ValueError(
                f"The log is of another tree ({log.tree or 'unknown'}), not of this "
                f"one ({own})."
            )
        return apply_edits(self.tree, log.edits, self.train, self.constraints)

    def tree_of(self, edited: Edited) -> Tree:
        """Return an edited tree as it is saved: leaves fitted, no empty branch."""
        return prune_empty(refit(edited, self.fitted))


def apply_edits(
    tree: Tree,
    edits: Iterable[Edit],
    rows: EditRows,
    constraints: Constraints | None = None,
) -> Edited:
    """Apply edits in their order.

    ValueError if one of them cannot be applied, saying which one and why; if the tree
    is none to edit, though there be no edit.
    Splits are chosen on the rows of training where an edit leaves that open; one that
    breaks a constraint is refused.
    """
    edited = Edited.of(tree, constraints)
    if reason := why_not_edited(tree, edited.constraints):
        raise ValueError(reason)
    for number, edit in enumerate(edits, start=1):
        try:
            edited = apply_edit(edited, edit, rows)
        except ValueError as error:
            raise ValueError(f"Edit {number} ({edit.kind}): {error}") from error
    return edited


def why_not_edited(tree: Tree, constraints: Constraints) -> str:
    """Say why a tree cannot be edited, and what to do instead; "" where it can."""
    if tree.outputs:
        return (
            "A tree of several outputs is not edited by hand, since leaves are fitted "
            "to one. Train a tree of one of them instead."
        )
    if tree.loss is None or tree.loss.has_means:
        return why_no_class_weights(tree)
    return (
        f"A tree that predicts {tree.loss.best} is not edited by hand, since leaves "
        "are fitted by the mean of their rows. Train it anew with other settings "
        "instead."
    )


def apply_edit(edited: Edited, edit: Edit, rows: EditRows) -> Edited:
    """Apply one edit; see ``apply_edits``."""
    if reason := why_not_edited(edited.tree, edited.constraints):
        raise ValueError(reason)
    node_of(edited.tree, edit.path)  # or there is none
    match edit:
        case SetSplit():
            after = _set_split(edited, edit, rows)
        case SetThreshold():
            after = _set_threshold(edited, edit, rows)
        case Forbid():
            after = _forbid(edited, edit, rows)
        case Prefer():
            after = _prefer(edited, edit, rows)
        case Allow():
            return _allow(edited, edit)
        case Lock() | Unlock():
            return _lock(edited, edit)
        case Prune():
            after = _prune(edited, edit)
        case _:
            raise ValueError(f"There is no edit {edit!r}.")
    _check_locked(after, rows)
    if (limits := edited.constraints).limits_splits:
        broken = newly_broken(edited.tree, after.tree, rows, limits)
        if broken:
            raise ValueError(f"The run's constraints do not allow this. {broken}")
    return after


def _set_split(edited: Edited, edit: SetSplit, rows: EditRows) -> Edited:
    """Give a node another split, or a leaf its first."""
    _check_free(edited, edit.path)
    feature = edited.feature_of(edit.column)
    if edit.column in edited.forbidden_at(edit.path):
        raise ValueError(f"{edit.column!r} is forbidden at {place_words(edit.path)}.")
    if (feature.kind == "number") != (edit.threshold is not None):
        needs = "a threshold" if feature.kind == "number" else "categories"
        raise ValueError(f"A split of {edit.column!r} needs {needs}.")
    unknown = set(edit.categories or ()) - set(feature.categories)
    if unknown:
        raise ValueError(f"{edit.column!r} has no category {sorted(unknown)[0]!r}.")
    if edit.categories and len(edit.categories) == len(feature.categories):
        raise ValueError("Some category must go right.")
    after = edited.with_split(edit)
    _check_divides(after, edit.path, rows)
    return after


def _set_threshold(edited: Edited, edit: SetThreshold, rows: EditRows) -> Edited:
    """Move the threshold of a split."""
    _check_free(edited, edit.path)
    node = node_of(edited.tree, edit.path)
    if edited.tree.is_leaf[node]:
        raise ValueError(f"{place_words(edit.path)} is a leaf; it has no threshold.")
    after = edited.with_threshold(edit.path, edit.threshold)
    _check_divides(after, edit.path, rows)
    return after


def _forbid(edited: Edited, edit: Forbid, rows: EditRows) -> Edited:
    """Forbid a column; splits that test it take their best other one."""
    edited.feature_of(edit.column)  # or there is none
    rule = edit.path, edit.column
    preferred = tuple(
        (path, column)
        for path, column in edited.preferred
        if column != edit.column or not path.startswith(edit.path)
    )
    after = replace(
        edited,
        forbidden=tuple(dict.fromkeys((*edited.forbidden, rule))),
        preferred=preferred,
    )
    for path in after.splits_below(edit.path):
        if not _is_split(after, path):  # it went with one above it
            continue
        if edit.column not in after.columns_of(node_of(after.tree, path)):
            continue
        _check_free(after, path)
        best = after.best(path, after.candidates(path, rows))
        after = _cut(after, path) if best is None else after.with_split(best.edit(path))
    return after


def _prefer(edited: Edited, edit: Prefer, rows: EditRows) -> Edited:
    """Prefer a column; free splits test it where that costs little."""
    edited.feature_of(edit.column)  # or there is none
    if edit.column in edited.forbidden_at(edit.path):
        raise ValueError(f"{edit.column!r} is forbidden at {place_words(edit.path)}.")
    rule = edit.path, edit.column
    after = replace(edited, preferred=tuple(dict.fromkeys((*edited.preferred, rule))))
    for path in after.splits_below(edit.path):
        columns = after.columns_of(node_of(after.tree, path))
        is_oblique = len(columns) > 1
        if path in after.locked or is_oblique or edit.column in columns:
            continue
        best = after.preferred_split(path, rows)
        if best is not None and best.column == edit.column:
            after = after.with_split(best.edit(path))
    return after


def _allow(edited: Edited, edit: Allow) -> Edited:
    """Take back what was said of a column at a node."""
    rule = edit.path, edit.column
    if rule not in edited.forbidden + edited.preferred:
        raise ValueError(
            f"{edit.column!r} is neither forbidden nor preferred at "
            f"{place_words(edit.path)} itself."
        )
    return replace(
        edited,
        forbidden=tuple(own for own in edited.forbidden if own != rule),
        preferred=tuple(own for own in edited.preferred if own != rule),
    )


def _lock(edited: Edited, edit: Lock | Unlock) -> Edited:
    """Hold a node, or all below it, fixed; or let go of it."""
    meant = {edit.path}
    if edit.below:
        meant |= {p for p in paths(edited.tree) if p.startswith(edit.path)}
    if isinstance(edit, Lock):
        return replace(edited, locked=edited.locked | meant)
    if not edited.locked & meant:
        raise ValueError(f"{place_words(edit.path)} is not locked.")
    return replace(edited, locked=edited.locked - meant)


def _prune(edited: Edited, edit: Prune) -> Edited:
    """Make a leaf of a split."""
    if not _is_split(edited, edit.path):
        raise ValueError(f"{place_words(edit.path)} is a leaf already.")
    _check_free(edited, edit.path)
    return _cut(edited, edit.path)


def _cut(edited: Edited, path: str) -> Edited:
    """Cut a branch unless something in it is locked."""
    if held := sorted(p for p in edited.locked if below(p, path)):
        raise ValueError(f"{held[0]}, below {place_words(path)}, is locked.")
    return edited.cut(path)


def _is_split(edited: Edited, path: str) -> bool:
    """Whether there is a split at a path."""
    try:
        return not edited.tree.is_leaf[node_of(edited.tree, path)]
    except ValueError:
        return False


def _check_free(edited: Edited, path: str) -> None:
    """Raise ValueError if a node is locked."""
    if path in edited.locked:
        where = place_words(path)
        raise ValueError(f"{where[0].upper()}{where[1:]} is locked; unlock it first.")


def _check_divides(edited: Edited, path: str, rows: EditRows) -> None:
    """Raise ValueError if a split sends all training rows to one side."""
    node = node_of(edited.tree, path)
    at = rows.at(edited.tree, node)
    matrix = rows.matrix(edited.tree)
    left = int(goes_left(edited.tree, matrix, np.full(len(at), node), at).sum())
    if len(at) and 0 < left < len(at):
        return
    side = "left" if left else "right"
    n_rows = counted(len(at), "training row")
    raise ValueError(f"This would send all {n_rows} at {place_words(path)} {side}.")


def _check_locked(edited: Edited, rows: EditRows) -> None:
    """Raise ValueError if a locked split has no training row on one side."""
    held = [path for path in sorted(edited.locked) if _is_split(edited, path)]
    if not held:
        return
    tree = edited.tree
    passed = rows_through(tree, leaf_of(tree, rows.matrix(tree)))
    for path in held:
        node = node_of(tree, path)
        if not passed[tree.left[node]] or not passed[tree.right[node]]:
            raise ValueError(
                f"This would leave no training row on one side of {place_words(path)}, "
                "which is locked."
            )
