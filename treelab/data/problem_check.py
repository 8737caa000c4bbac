"""Findings on a problem, in sentences, before anything is trained on it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from treelab.data.column_meaning import Meaning, column_meaning
from treelab.data.columns import (
    cast_column,
    class_labels,
    column_kind,
    column_note,
    too_large,
)
from treelab.data.leaks import MANY_COLUMNS, leaks
from treelab.data.problem import Problem
from treelab.data.split import MIN_ROWS, SPLITS, rare_class_notes
from treelab.trees.cells import noted_form, value_text
from treelab.trees.date_parts import with_date_parts
from treelab.trees.words import counted, left_out, listed, percent

MOST_CLASSES = 200  # more are hardly classes, and each costs an output everywhere
MOSTLY_MISSING = 0.9
SMALL_TABLE = 50
RARE_ROWS = 10  # a value that fewer rows hold is rare
MANY_RARE = 20  # rare values of a column: worth saying

NOTE_WORDS = {
    "all missing": "has no value in any row",
    "constant": "has the same value in every row",
    "looks like an id": "has a different value in nearly every row, as an id has",
    "looks like a row number": "counts the rows",
}


@dataclass(frozen=True)
class Finding:
    """One sentence on a problem."""

    # "error" or "note": an error stops training; a note explains what will be done, or
    # what to mind.
    level: str
    sentence: str  # what is odd, where, and what to do
    column: str = ""  # the column it is about, "" where it is about the table


def check_problem(
    frame: pd.DataFrame, problem: Problem, *, with_leaks: bool = True
) -> list[Finding]:
    """Return what is odd about a problem, errors first.

    Without an error among them, ``problem.split(frame)`` will work. ``with_leaks``
    looks for columns that determine the target alone, too, which fits a small tree to
    each; they are notes.
    """
    frame = with_date_parts(frame, problem.columns)
    names = {str(name) for name in frame.columns}
    needed = [
        *problem.targets,
        *problem.columns,
        *filter(None, (problem.truth, problem.weight, problem.exposure)),
    ]
    absent = [name for name in needed if name not in names]
    if absent:
        return [
            _error(
                f"The table has no column {name!r}. Choose among "
                f"{listed(list(frame.columns))}.",
                name,
            )
            for name in absent
        ]
    of_each = [
        replace(problem, target=name, more_targets=()) for name in problem.targets
    ]
    counts = frame[list(problem.targets)].notna().all(axis=1)
    findings: list[Finding] = []
    try:
        if (weight := problem.weights(frame)) is not None:
            counts &= weight > 0
    except ValueError as error:
        findings.append(_error(str(error), problem.weight or problem.exposure))
    rows = frame[counts]
    for one in of_each:
        findings += _about(one.target, _target_findings(frame, rows, one))
    findings += _about(problem.truth, _truth_findings(frame, problem))
    for name in problem.columns:
        findings += _about(name, _column_findings(frame, name, problem))
    findings += _split_findings(rows, problem)
    if with_leaks and all(finding.level != "error" for finding in findings):
        findings += [own for one in of_each for own in _leak_findings(rows, one)]
    return sorted(findings, key=lambda finding: finding.level != "error")


def _target_findings(
    frame: pd.DataFrame, rows: pd.DataFrame, problem: Problem
) -> Iterator[Finding]:
    """Yield what is odd about the target and the rows that count."""
    name = problem.target
    target, known = frame[name], rows[name]
    n_missing = int(target.isna().sum())

    if n_missing == len(target):
        yield _error(f"The target {name!r} has no value in any row. Choose another.")
        return
    if len(known) < MIN_ROWS:
        yield _error(
            f"{counted(len(known), 'row')} with a value of {name!r} "
            f"{'counts' if len(known) == 1 else 'count'}: at least {MIN_ROWS} are "
            "needed, one each to train, to validate and to test."
        )
    if n_missing:
        which = f"without a value of the target {name!r}"
        yield _note(f"{left_out(n_missing, which)}.")
    if known.empty:
        return
    form = noted_form(frame, name)
    if known.nunique() == 1:
        shown = value_text(known.iloc[0])
        if form is not None and form.kind != "category" and target.nunique() == 1:
            shown = form.example or shown  # the cell as it is written
        yield _error(
            f"The target {name!r} is {shown!r} in every row that counts, so there is "
            "nothing to learn. Choose another."
        )
    elif form is not None and form.kind == "date":
        yield _error(
            f"The target {name!r} holds dates, and a tree predicts numbers or classes. "
            "Choose a column of numbers that say when, such as the days since another "
            "date of the row."
        )
    elif problem.task == "regression":
        yield from _number_target(target)
    else:
        yield from _class_target(rows, problem)
    if MIN_ROWS <= len(known) < SMALL_TABLE:
        yield _note(
            f"The table has {counted(len(known), 'row')} with a target: a score on so "
            "few test rows is uncertain."
        )


def _number_target(target: pd.Series) -> Iterator[Finding]:
    """Yield what is odd about a target for regression."""
    if column_kind(target) != "number":
        shown = str(target.dropna().iloc[0])
        yield _error(
            f"The target {target.name!r} holds text such as {shown!r}, but "
            "regression predicts numbers. Choose a number column or classification."
        )
        return
    if bad := too_large(target.to_numpy(dtype=np.float64, na_value=np.nan)):
        yield _error(f"The target {target.name!r} {bad}")
    if target.nunique() == 2:
        yield _note(
            f"The target {target.name!r} has two values only. If they are classes, "
            "choose binary."
        )


def _class_target(rows: pd.DataFrame, problem: Problem) -> Iterator[Finding]:
    """Yield what is odd about a target for classification, of the rows that count."""
    known = rows[problem.target]
    labels = class_labels(known)
    n_classes = labels.nunique()
    way_out = (
        "Choose regression if they are amounts."
        if column_kind(known) == "number"
        else "It may be an id; choose another target, or join rare classes."
    )
    # The share of rows that are alone in their class is how often a new row's class is
    # one never seen (Good, "The population frequencies of species", Biometrika 1953).
    n_alone = int((labels.value_counts() == 1).sum())
    if 2 * n_alone > len(labels):
        yield _error(
            f"The target {known.name!r} has {n_classes:,} classes in "
            f"{counted(len(known), 'row')}, and {n_alone:,} of them have one row only: "
            f"most new rows would be of a class never seen. {way_out}"
        )
        return
    if n_classes > MOST_CLASSES:
        yield _error(
            f"The target {known.name!r} has {n_classes:,} different values, but at "
            f"most {MOST_CLASSES} classes are supported. {way_out}"
        )
        return
    if problem.task == "binary" and n_classes > 2:
        yield _error(
            f"The target {known.name!r} has {n_classes} classes, but the task "
            "binary has two. Choose multiclass."
        )
    if len(rows) < MIN_ROWS or labels.value_counts().min() > 2:
        return
    try:
        assigned = problem.assign(rows, pd.factorize(labels)[0])
    except ValueError:  # said where the split is looked at
        return
    for sentence in rare_class_notes(labels, assigned):
        yield _note(sentence)


def _column_findings(
    frame: pd.DataFrame, name: str, problem: Problem
) -> Iterator[Finding]:
    """Yield what is odd about a column to predict from."""
    column = frame[name]
    kind = column_kind(column)
    by_hand = dict(problem.kinds).get(name)
    chosen = by_hand or kind
    form = noted_form(frame, name)
    cast = cast_column(column, chosen, form)
    reason, rare = column_note(cast), ""
    if chosen == "category" and name not in dict(problem.rare):
        rare = _rare_words(column)
    odd = Meaning("", "")
    if (reason == "looks like an id" or rare) and not by_hand:
        odd = column_meaning(column, form)
    if odd.kind == "numbers and words":
        yield _note(f"Column {name!r} is a category: {odd.reason}", name)
    elif reason:
        yield _note(
            f"Column {name!r} {NOTE_WORDS[reason]}; it cannot help. Take it out."
        )
    elif rare:
        yield _note(f"Column {name!r} has {rare}")
    missing = column.isna()
    if MOSTLY_MISSING < (share := missing.mean()) < 1:
        yield _note(
            f"Column {name!r} is missing in {share:.0%} of the rows"
            + ("; they get its median." if chosen == "number" else ".")
        )
    if kind == "number":
        if bad := too_large(column.to_numpy(dtype=np.float64, na_value=np.nan)):
            yield _error(f"Column {name!r} {bad}")
    elif chosen == "number":
        lost = cast.isna() & ~missing
        if lost.all():
            yield _error(
                f"Column {name!r} was chosen to be numbers, but holds none. Choose "
                "category.",
                name,
            )
        elif lost.any():
            yield _note(
                f"Column {name!r} was chosen to be numbers; {lost.sum():,} of its "
                f"cells hold none, such as {str(column[lost].iloc[0])!r}, and count "
                "as missing.",
                name,
            )


def _rare_words(column: pd.Series) -> str:
    """Say that many values of a category column are rare; "" where they are not."""
    codes = pd.factorize(column)[0]
    counts = np.bincount(codes[codes >= 0])
    rare = counts[counts < RARE_ROWS]
    if len(rare) < MANY_RARE:
        return ""
    return (
        f"{len(rare):,} values that fewer than {RARE_ROWS} rows hold, "
        f"{percent(rare.sum() / counts.sum())} of the rows. They can count as one: "
        f"Rare below {RARE_ROWS}, under Features used (--rare {RARE_ROWS} on the "
        "command line)."
    )


def _truth_findings(frame: pd.DataFrame, problem: Problem) -> Iterator[Finding]:
    """Yield that another model's predictions cannot be held against their truth."""
    if not problem.truth:
        return
    if problem.truth == problem.target:
        yield _error(
            f"The true values of {problem.target!r} are the predictions themselves; "
            "choose the column that the other model predicts."
        )
    truth, target = frame[problem.truth].dropna(), frame[problem.target].dropna()
    if problem.task == "regression":
        alike = column_kind(truth) == "number"
    else:
        alike = bool(set(class_labels(truth)) & set(class_labels(target)))
    if not alike:
        yield _error(
            f"The true values {problem.truth!r} and the predictions {problem.target!r} "
            "share no value; choose the column that the other model predicts."
        )


def _split_findings(rows: pd.DataFrame, problem: Problem) -> Iterator[Finding]:
    """Yield why the rows that count cannot be split so, or what such a split means."""
    name = problem.split_column
    # At random only a small table may lose a class.
    is_safe = len(rows) >= SMALL_TABLE and not (name or problem.n_folds)
    if len(rows) < MIN_ROWS or is_safe:
        return
    strata = np.zeros(len(rows), dtype=np.int64)
    if problem.task != "regression":
        strata = pd.factorize(class_labels(rows[problem.target]))[0]
    try:
        assigned = problem.assign(rows, strata)
    except ValueError as error:
        yield _error(str(error), name)
        return
    lost = ~np.isin(strata, strata[assigned == 0])
    if lost.any():
        label = value_text(rows[problem.target].iloc[int(lost.argmax())])
        which = f"of a class that no training row has, such as {label!r},"
        sentence = left_out(int(lost.sum()), which)
        left = set(assigned[~lost])
        if len(np.unique(strata[~lost])) == 1:
            yield _error(
                f"{sentence}, so all training rows are of one class, and there is "
                "nothing to learn. Split by another column, or at random.",
                name,
            )
        elif len(left) == len(SPLITS):
            yield _note(f"{sentence}.", problem.target)
        else:
            what = "test on" if 2 not in left else "validate on"
            yield _error(f"{sentence}, so there is no row to {what}.", problem.target)


def _leak_findings(rows: pd.DataFrame, problem: Problem) -> Iterator[Finding]:
    """Yield the columns that settle the target by themselves."""
    if len(problem.columns) > MANY_COLUMNS:
        yield _note(
            f"Among so many columns, {len(problem.columns):,}, those that determine "
            f"the target {problem.target!r} alone are not looked for here; the tab "
            "Columns of Data looks for them when asked.",
            problem.target,
        )
        return
    found = leaks(rows[list(problem.columns)], rows[problem.target], problem.task)
    is_number = problem.task == "regression"
    measure = "an R² of ranks of" if is_number else "a balanced accuracy of"
    for name, score in found:
        yield _note(
            f"Column {name!r} alone determines the target {problem.target!r}: a small "
            f"tree of it has {measure} {score:.3f} on held-out rows. If it is known "
            "only afterwards, take it out."
        )


def _error(sentence: str, column: object = "") -> Finding:
    """Return what stops training."""
    return Finding("error", sentence, str(column))


def _note(sentence: str, column: object = "") -> Finding:
    """Return what to mind."""
    return Finding("note", sentence, str(column))


def _about(column: object, found: Iterable[Finding]) -> list[Finding]:
    """Return findings on a column, which need not name it."""
    return [replace(finding, column=str(column)) for finding in found]
