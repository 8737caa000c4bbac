"""New rows: a table that a visitor brings, and what a run predicts for it."""

from dataclasses import replace
from hashlib import sha256

import pandas as pd
import streamlit as st

from pages.cached import predictions as cached
from pages.cached.runs import LoadedRun
from pages.cached.store import stored_table_id, table
from pages.explain.which_row import open_new_row
from pages.state.choices import table_titles
from pages.widgets.page import pick_one
from pages.widgets.upload import LABEL, chosen_part, part_box, part_title
from pages.widgets.words import plain, refusals
from treelab.data.reading.file_format import KINDS, format_of
from treelab.data.reading.table_error import ChoiceError
from treelab.data.writing import FORMATS
from treelab.evaluation import predictions
from treelab.evaluation.metrics import TITLES, score_text
from treelab.runs.run_words import distinct, score_words
from treelab.trees.pruning_path import ON_TOP
from treelab.trees.words import counted, listed, quoted

FILE, PASTED, STORED = "A file", "Pasted cells", "A stored table"


def pick_new_rows(loaded: LoadedRun) -> cached.GivenTable | None:
    """Let the visitor choose a table; None until there is one with rows."""
    sources = [FILE, PASTED, STORED]
    source = pick_one("Rows from", sources, "predict-source", persist_state="session")
    with refusals():
        if source == STORED:
            given = _stored()
        elif content := uploaded("predict-file") if source == FILE else _pasted():
            given = given_table(loaded, *content)
        else:
            _say_what_is_read(loaded)
            return None
        if not len(given.frame):
            st.info("The table has no row to predict.", icon=":material/info:")
            return None
        absent = predictions.absent_columns(loaded.model, given.frame)
        fill_absent = bool(absent) and st.toggle(
            "Predict without the absent columns, as if they were empty",
            key=f"predict-fill-{loaded.run.id}-{given.key}",
        )
        given = replace(given, fill_absent=fill_absent)
        cached.ready_table(loaded, given)  # or say why it cannot be read
        return given
    return None


def _say_what_is_read(loaded: LoadedRun) -> None:
    """Say which columns the model reads, and that the target is welcome."""
    columns, problem = list(loaded.model.columns), loaded.run.problem
    scored = [*problem.targets, *filter(None, (problem.exposure, problem.weight))]
    read = f"{counted(len(columns), 'column')}: {listed(columns, 12, quoted)}"
    words = (
        f"The model reads {read if columns else 'no column'}. Columns may stand in any "
        f"order, among others. With {listed(scored, write=quoted)}, predictions are "
        "scored. The table is not stored."
    )
    st.info(plain(words), icon=":material/info:")


def _stored() -> cached.GivenTable:
    """Let the visitor choose a table of the run store."""
    titles = distinct(table_titles())
    given = {"format_func": titles.__getitem__, "width": 360}
    key = st.selectbox("Table", list(titles), key="predict-stored", **given)
    table_id = stored_table_id(key)
    frame = table(table_id)
    return cached.GivenTable(frame, frame, titles[key], table_id)


def uploaded(key: str, **given) -> tuple[bytes, str, str] | None:
    """Let the visitor upload a file; its content, its name, its key."""
    file = st.file_uploader(LABEL, type=KINDS, key=key, **given)
    return None if file is None else (file.getvalue(), file.name, file.file_id)


def _pasted() -> tuple[bytes, str, str] | None:
    """Let the visitor paste cells; their content, a name, a key."""
    text = st.text_area(
        "Cells copied from a spreadsheet, or lines of CSV, with their header",
        key="predict-pasted",
        height=140,
    )
    if not text.strip():
        return None
    content = text.encode("utf-8", errors="replace")
    return content, "Pasted table", sha256(content).hexdigest()


def given_table(
    loaded: LoadedRun, content: bytes, name: str, key: str
) -> cached.GivenTable:
    """Read a visitor's table as the run's model does; of several they choose one."""
    try:
        found = cached.read_given(loaded, key, name, content)
    except ChoiceError as several:
        with st.container(width=360):
            part_box(f"part-{key}", format_of(content), several.choices)
        part = chosen_part(f"part-{key}", several.choices)
        found = cached.read_given(loaded, key, name, content, **part)
        found = replace(found, name=part_title(name, part))
    if found.notes:
        with st.expander(f"How {plain(found.name)} was read"):
            for note in found.notes:
                st.caption(plain(note))
    return found


MOST_SHOWN = 200  # rows; the file has all
_NAMES = {
    "table": "the table's columns",
    "rule": "rule of the leaf",
    "tree": "deciding tree",
    "weight": "its weight",
}


def show_new_rows(loaded: LoadedRun, given: cached.GivenTable) -> None:
    """Show what is predicted for new rows: the first of them, and all as a file."""
    with refusals():
        predicted = cached.predicted_columns(loaded, given, ("prediction",))
        for _, column in predicted.items():
            words = predictions.predicted_words(loaded.model, column)
            st.header(plain(words), anchor=False)
        _show_scores(loaded, given)
        for note in cached.ready_table(loaded, given).notes:
            st.warning(plain(note), icon=":material/help:")
        _show_rows(loaded, given)


def _show_scores(loaded: LoadedRun, given: cached.GivenTable) -> None:
    """Show how the predictions score where the table holds the target."""
    if given.key in (loaded.run.problem.table_id, loaded.run.problem.origin):
        st.caption(
            "The run was trained on rows of this table, so agreement with it measures "
            f"nothing; its score on rows held out is {plain(score_words(loaded.run))}."
        )
        return
    scores, note = cached.scores_on(loaded, given)
    if scores:
        words = ", ".join(
            f"{TITLES[name]} **{plain(score_text(name, scores[name], loaded.model))}**"
            for name in scores
            if name in TITLES
        )
        rows = f"{counted(int(scores['n_rows']), 'row')} of this table"
        rows += loaded.run.problem.weighted_words
        st.markdown(f"{plain(f'Against {loaded.model.target} on {rows}')}: {words}.")
    if note:
        st.caption(plain(note))


def _show_rows(loaded: LoadedRun, given: cached.GivenTable) -> None:
    """Let the visitor choose columns; show the first rows, and offer all as a file."""
    offered = predictions.parts_of(loaded.model)
    parts = st.pills(
        "Columns",
        offered,
        selection_mode="multi",
        default=[part for part in predictions.DEFAULT_PARTS if part in offered],
        format_func=lambda part: _NAMES.get(part, part),
        key=f"predict-parts-{loaded.run.id}",
        wrap=True,
        help="; ".join(f"{_NAMES.get(p, p)}: {predictions.PARTS[p]}" for p in offered)
        + ".",
    )
    if not parts:
        st.info("Choose at least one kind of column above.")
        return
    chosen = tuple(part for part in offered if part in parts)
    predicted = cached.predicted_columns(loaded, given, chosen)

    def rows(n_rows: int | None = None) -> pd.DataFrame:
        """Return the table with its predictions, all rows or the first."""
        tables = given.written[:n_rows], predicted[:n_rows]
        return predictions.with_predictions(*tables, chosen, given.name)

    shown, own = rows(MOST_SHOWN), predicted.columns.tolist()
    order = [*own, *(str(name) for name in shown.columns if name not in own)]
    key = f"predict-rows-{loaded.run.id}"

    def explain_row() -> None:
        if rows := st.session_state[key]["selection"]["rows"]:
            open_new_row(rows[0])

    st.dataframe(
        shown.rename(columns=str),
        column_order=order,
        hide_index=True,
        height=420,
        key=key,
        on_select=explain_row,
        selection_mode="single-row",
    )
    n_rows = len(given.frame)
    which = "All rows" if n_rows <= MOST_SHOWN else f"The first {MOST_SHOWN} rows"
    words = [
        f"{which} of {counted(n_rows, 'row')}; tick one to have it explained. In the "
        "file predictions stand behind the table's own columns."
    ]
    if {"leaf", "rule"} & set(chosen):
        heaviest = "Leaf and rule are those of the tree of highest weight."
        words += [heaviest] * loaded.is_ensemble + [ON_TOP] * loaded.model.has_predictor
        X = cached.ready_table(loaded, given).X
        words.append(predictions.empty_branch_note(loaded.model, X))
    words += predictions.reading_notes(loaded.model, predicted)
    st.caption(plain(" ".join(words)))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        titles = {ending: own.title for ending, own in FORMATS.items()}
        look = {"format_func": titles.__getitem__, "width": 160}
        ending = st.selectbox("File", list(titles), key="predict-format", **look)
        st.download_button(
            "Download",
            lambda: FORMATS[ending].write(rows()),
            f"predictions-{loaded.run.id}.{ending}",
            FORMATS[ending].mime,
            key=f"predict-download-{ending}",
            on_click="ignore",
            icon=":material/download:",
            type="primary",
        )
    if ending == "csv":
        st.caption(
            "Text that a spreadsheet would run as a formula has an apostrophe ahead."
        )
