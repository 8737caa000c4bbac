"""A table's columns: which are used and as what, and what they hold before training."""

from dataclasses import replace

import pandas as pd
import streamlit as st
from streamlit import column_config as config

from pages.cached import store as cached
from pages.state.choices import change_problem, changes, columns_and, with_targets
from pages.widgets.page import mode, show_bars, show_figure
from pages.widgets.words import plain
from treelab.data.encoding import least_text, parse_least
from treelab.data.leaks import MANY_COLUMNS, MOST_LEAVES
from treelab.data.problem import Problem
from treelab.evaluation.profile import Alone, alone_score, missing_words
from treelab.figures.html import facts_table
from treelab.figures.profile import associations_figure, distribution_figure
from treelab.trees.cells import holds_times
from treelab.trees.date_parts import PARTS, parse_part, part_name
from treelab.trees.words import (
    counted,
    named_with_unit,
    percent,
    short_time,
    significant,
)

MOST_UNIT = 20  # letters of a unit
_FACTS = ("meaning", "reason", "missing", "different", "example", "note")


def column_editor(problem: Problem) -> None:
    """Show every column with its facts; ticks and types change the problem."""
    # What else takes columns out of those that are used, or puts them in again.
    apart = problem.more_targets, problem.truth, problem.weighting, problem.split_column
    key = f"columns-{problem.table_id}-{problem.target}{apart}"
    base_key = f"{key}-base"
    if key not in st.session_state:  # first seen, or back from another page
        st.session_state[base_key] = _rows(problem)
    base = st.session_state[base_key].copy()
    for name, now in cached.made_numbers(problem).items():
        base.loc[base["column"] == name, list(now)] = list(now.values())
    st.data_editor(
        base,
        key=key,
        hide_index=True,
        height=min(35 * (len(base) + 1) + 3, 420),
        on_change=_apply,
        args=(key, base_key, problem),
        disabled=["column", *_FACTS],
        column_config={
            "use": config.CheckboxColumn("Use", width="small"),
            "column": "Column",
            "kind": config.SelectboxColumn(
                "Type",
                options=["number", "category"],
                required=True,
                help="How trees read it: numbers are split at a threshold, categories "
                "into two sets. Why says what speaks for which.",
            ),
            "unit": config.TextColumn(
                "Unit",
                max_chars=MOST_UNIT,
                help="Written behind the thresholds of every split, such as kg.",
            ),
            "meaning": config.TextColumn(
                "Holds", help="What the values most likely are."
            ),
            "reason": config.TextColumn("Why", width="large"),
            "rare": config.TextColumn(
                "Rare below",
                validate=r"^\s*(\d+(\.\d+)?\s*%?)?\s*$",
                help="Of a category: values that fewer training rows hold become one "
                "value in every tree. Write a number of rows, such as 10, or a "
                "percentage of them, such as 1%; empty joins none.",
            ),
            "missing": config.ProgressColumn("Missing", format="percent"),
            "different": config.NumberColumn("Unique values", format="localized"),
            "example": "Example",
            "note": "Note",
        },
    )
    if error := st.session_state.get(f"{key}-error"):
        st.error(error, icon=":material/error:")


def model_column(problem: Problem) -> None:
    """Ask whether the target holds another model's predictions, and for the truth."""

    def with_model(now: Problem, is_surrogate: bool) -> Problem:
        """Take one target for predictions, which are of no exposure, or not."""
        if is_surrogate:
            now = replace(with_targets(now, ()), exposure="")
        return replace(with_truth(now, None), is_surrogate=is_surrogate)

    def with_truth(now: Problem, truth: str | None) -> Problem:
        """Name the column with the truth, which no tree may see; another it may."""
        known = columns_and(now, [now.truth])
        columns = tuple(name for name in known if name != truth)
        return replace(now, truth=truth or "", columns=columns)

    st.checkbox(
        "Target is another model's output (imitate it)",
        **changes(problem, "surrogate", problem.is_surrogate, with_model),
        help="The tree then imitates that model: its score is how well it does, its "
        "fidelity, and the Tree page shows where the two differ.",
    )
    if not problem.is_surrogate:
        return
    facts = cached.column_facts(problem.table_id)["column"]
    names = [str(name) for name in facts if name != problem.target]
    st.selectbox(
        "True values",
        names,
        index=None,
        placeholder="not in the table",
        **changes(problem, "truth", problem.truth or None, with_truth),
        help="The column that the other model predicts. No tree sees it; tree and "
        "model are scored against it.",
    )


def _rows(problem: Problem) -> pd.DataFrame:
    """Return one row a column, without the target and what goes with it."""
    facts = cached.column_facts(problem.table_id)
    apart = (*problem.targets, problem.truth, problem.weight, problem.exposure)
    facts = facts[~facts["column"].isin(apart)]
    kinds, units = cached.column_kinds(problem), dict(problem.units)
    rare, names = dict(problem.rare), facts["column"]
    found = facts.assign(
        use=names.isin(problem.columns),
        kind=[kinds[name] for name in names],
        unit=[units.get(name, "") for name in names],
        rare=[least_text(rare.get(name, 0)) for name in names],
    ).rename(columns={"missing_share": "missing", "n_unique": "different"})
    order = ["use", "column", "kind", "unit", "rare", *_FACTS]
    return found[order].reset_index(drop=True)


def _apply(key: str, base_key: str, problem: Problem) -> None:
    """Apply the edits so far to the problem, or note why they cannot be."""
    edited = st.session_state[base_key].copy()
    for row, values in st.session_state[key]["edited_rows"].items():
        for name, value in values.items():
            edited.loc[edited.index[int(row)], name] = value
    edited = edited.set_index("column")
    used = [*edited.index[edited["use"].astype(bool)]]
    used += [own for own in problem.columns if parse_part(own) and own not in used]
    facts = cached.column_facts(problem.table_id).set_index("column")["kind"]
    changed = edited["kind"][edited["kind"] != facts[edited.index]]

    def change(now: Problem) -> Problem:
        found = {
            "kinds": changed.to_dict(),
            "units": edited["unit"].fillna("").str.strip().to_dict(),
            "rare": edited["rare"].fillna("").map(parse_least).to_dict(),
        }
        # What was said of columns that stand elsewhere, as of a target, stays.
        for what in found:
            before = {k: v for k, v in getattr(now, what) if k not in edited.index}
            found[what] = tuple(own for own in (before | found[what]).items() if own[1])
        return replace(now, columns=used, **found)

    try:
        change_problem(problem, change)
        st.session_state.pop(f"{key}-error", None)
    except ValueError as error:
        st.session_state[f"{key}-error"] = f"{error} The last change was not applied."


def date_parts(problem: Problem) -> None:
    """Let the visitor tick what of each column of dates is used beside the years."""
    for column, first, has_times in cached.date_columns(problem.table_id):
        if column in (*problem.targets, problem.truth):
            continue
        names = {
            part_name(part, column, first): part
            for part in PARTS
            if part != "hour" or has_times
        }

        def with_parts(now: Problem, chosen: list[str], names=tuple(names)) -> Problem:
            """Use these parts of the column."""
            others = tuple(name for name in problem.columns if name not in names)
            columns = others + tuple(name for name in names if name in chosen)
            return replace(now, columns=columns)

        used = [name for name in names if name in problem.columns]
        st.pills(
            f"Date parts of {plain(column)}",
            list(names),
            selection_mode="multi",
            format_func=names.__getitem__,
            **changes(problem, f"dates-{column}", used, with_parts),
            help="; ".join(f"{part}: {what}" for part, what in PARTS.items())
            + ". The column itself holds years with decimals, and can be left out "
            "above.",
        )


MOST_COLUMNS = 15


def show_columns(problem: Problem) -> None:
    """Show how each column relates to the target, and what is missing or repeated."""
    left, right = st.columns(2, gap="large")
    with left:
        show_alone(problem)
    with right:
        show_associations(problem)
    show_distribution(problem)
    left, right = st.columns(2, gap="large")
    with left:
        show_rows(problem)
    with right:
        show_odd(problem)
        show_missing(problem)


def _alone(problem: Problem) -> Alone | None:
    """Return what each column predicts alone; None before it is asked for."""
    asked = st.session_state.get(f"alone-{problem.table_id}")
    is_quick = len(problem.columns) <= MANY_COLUMNS
    return cached.alone_of(problem) if asked or is_quick else None


def _ranked(problem: Problem) -> list[str]:
    """Return the columns to predict from, those that predict most first."""
    found = _alone(problem)
    return found.names if found and found.names else list(problem.columns)


def _sample_words(n_rows: int, problem: Problem) -> str:
    """Name the rows that were looked at."""
    n_all = len(cached.table(problem.table_id))
    rows = counted(n_all, "row")
    return f"a sample of {n_rows:,} of {rows}" if n_rows < n_all else rows


def show_alone(problem: Problem) -> None:
    """Draw what each column predicts alone."""
    st.subheader("How each column relates to the target", anchor=False)
    n = len(problem.columns)
    if n > MANY_COLUMNS:
        st.toggle(
            "Measure",
            key=f"alone-{problem.table_id}",
            help=f"Fits a small tree to each of the {n:,} columns.",
        )
    found = _alone(problem)
    if found is None:
        return
    if not found.names:
        st.markdown("The rows with a target are too few to say.")
        return
    show_bars(
        "profile-alone",
        found.sentences(problem, plain),
        *(found.names, found.power),
        title=f"{alone_score(problem)} alone",
        most=MOST_COLUMNS,
    )
    rarest = ""
    if found.n_rarest:  # recall of few rows weighs as much as that of many
        rarest = f", where the rarest class has {counted(found.n_rarest, 'row')}"
    st.caption(
        f"A tree of 2 to {MOST_LEAVES} leaves on each column, its size chosen and "
        f"fitted on one half of {_sample_words(found.n_rows, problem)}, scored on the "
        f"other{rarest}. 0 is "
        "the baseline, 1 exact."
        + (f" The first {MOST_COLUMNS} of {n:,} columns." if n > MOST_COLUMNS else "")
    )


@st.fragment
def show_distribution(problem: Problem) -> None:
    """Draw how the values of a chosen column lie, and the target among them."""
    st.subheader("One column", anchor=False)
    name = st.selectbox(
        "Column",
        _ranked(problem),
        key=f"profile-column-{problem.table_id}-{problem.target}",
        width=320,
    )
    facts = cached.column_facts(problem.table_id).set_index("column")
    if name in facts.index:
        meaning = facts.loc[name]
        st.caption(f"{meaning['meaning'].capitalize()}. {plain(meaning['reason'])}")
    found, table = cached.distribution_of(problem, name), cached.table(problem.table_id)
    times = {n for n in (name, problem.target) if holds_times(table, n)}
    units = replace(problem, columns=(name,)).table(table).attrs["units"]
    units |= dict.fromkeys(times, "")
    titles = [named_with_unit(n, units.get(n, "")) for n in (name, problem.target)]
    are_times = problem.target in times
    number = short_time if are_times else significant
    words = found.sentence(name, problem.target, plain, number)
    st.markdown(words)
    colors = cached.target_colors(problem)
    figure = distribution_figure(found, *titles, colors, mode(), times=are_times)
    show_figure(figure, key="profile-distribution", alt=words)
    what = "the target's mean below"
    if found.target_mean is None:
        what = "a colour a class"
    tails = "" if found.of_categories else "; the outermost bins hold the tails"
    st.caption(f"All rows with a target, {what}{tails}.")


def show_associations(problem: Problem) -> None:
    """Draw how strongly the columns are associated."""
    st.subheader("Associations between columns", anchor=False)
    names = tuple(_ranked(problem)[:MOST_COLUMNS])
    if len(names) < 2:
        st.markdown("There is one column only.")
        return
    found = cached.associations_of(problem, names)
    words = found.sentences(plain)
    if not words:
        st.markdown("No two columns share enough rows to say.")
        return
    st.markdown(words)
    figure = associations_figure(found, mode())
    show_figure(figure, key="profile-associations", alt=words)
    some = ""
    if len(problem.columns) > len(names):
        some = f"The {len(names)} columns that predict most alone. "
    st.caption(
        f"{some}{_sample_words(found.n_rows, problem).capitalize()}. Spearman's rank "
        "correlation without its sign, correlation ratio or Cramér's V, by type of "
        "column; 0 to 1, corrected for chance."
    )


def show_odd(problem: Problem) -> None:
    """List the columns to check, each with what was seen."""
    facts = cached.column_facts(problem.table_id)
    odd = facts[facts["meaning"].isin(_ODD)]
    done = [name for name, kind in problem.kinds if kind == "number"]
    odd = odd[(odd["meaning"] != _MIXED) | ~odd["column"].isin(done)]
    own = (facts["meaning"] == "possible id") & (facts["column"] != problem.target)
    odd = pd.concat([odd, facts[own]])
    rows = odd[["column", "meaning", "reason"]].to_numpy().tolist()
    found = _alone(problem)
    power = dict(zip(found.names, found.power)) if found else {}
    for name in found.leaks if found else []:
        words = (
            f"Alone it predicts the target nearly exactly ({significant(power[name])}"
        )
        words += " of 1). Leave it out if it is known only afterwards."
        rows.insert(0, (name, "gives the target away", words))
    st.subheader("Columns to check", anchor=False)
    if not rows:
        st.markdown("None: no id, no constant, none that gives the target away.")
        return
    shown = pd.DataFrame(rows, columns=["Column", "What", "Why"]).map(plain)
    with st.container(height=MOST_HEIGHT if len(rows) > MOST_ROWS else "content"):
        st.table(shown, border="horizontal", hide_index=True)  # long reasons wrap


MOST_ROWS, MOST_HEIGHT = 5, 300  # of these, pixels: more are scrolled
_MIXED = "numbers and words"  # until it is chosen which of them count
_ODD = ("id", "constant", "empty", "text", _MIXED)
# Of what a column holds.
_KINDS = dict.fromkeys(("whole number", "possible id"), "integer") | {
    "number": "decimal"
}


def show_rows(problem: Problem) -> None:
    """Show the counts of rows and columns, all of them counted."""
    facts = cached.rows_of(problem)
    meanings = cached.column_facts(problem.table_id)["meaning"]
    st.subheader("Rows and columns", anchor=False)
    shown = {
        "Rows": f"{facts.n_rows:,}",
        "Columns": f"{len(meanings):,}",
        "Missing cells": percent(facts.missing_share),
        "Rows without a gap": f"{facts.n_complete:,}",
        "Repeated rows": f"{facts.n_repeated:,}",
        "Contradicting rows": f"{facts.n_contradicting:,}",
    }
    st.html(facts_table(shown))
    counts = meanings.replace(_KINDS).value_counts()
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in counts.items())
    st.caption(
        f"Columns by type: {kinds}. A repeated row equals an earlier one in every "
        "column. Contradicting rows have equal features and different targets: no "
        "model predicts all of them."
    )


def show_missing(problem: Problem) -> None:
    """Draw how much is missing in each column, and where that depends on the target."""
    st.subheader("Missing values", anchor=False)
    gaps = cached.gaps_of(problem)
    if gaps.empty:
        st.markdown("No value is missing.")
        return
    show_bars(
        "profile-missing",
        plain(missing_words(gaps)),
        *(gaps["column"], gaps["missing"]),
        title="fraction of rows without a value",
        most=MOST_COLUMNS,
    )
    if (more := len(gaps) - MOST_COLUMNS) > 0:
        st.caption(f"{counted(more, 'more column')} with fewer gaps.")
