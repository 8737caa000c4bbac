"""A surrogate run: how well it imitates its model, and where it does not."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.predictions import imitations
from pages.common.cached.store import queue, store
from pages.common.words import fitted_words, plain
from treelab.evaluation.surrogates import Imitation
from treelab.runs.jobs.residual import residual_problem, residual_title
from treelab.runs.store.run import Run
from treelab.trees.words import counted, percent, significant


def show_surrogate(loaded: LoadedRun) -> None:
    """Say how well the tree imitates, and offer the tree of where it differs."""
    problem = loaded.run.problem
    st.header(plain(f"How well it imitates {problem.target}"), anchor=False)
    try:
        found = imitations(loaded)
    except ValueError as error:
        st.warning(plain(error), icon=":material/warning:")
        return
    name = f"“{problem.target}”"
    st.markdown(plain(" ".join(found["test"].sentences(name, "test row"))))
    n_test = counted(loaded.n_rows("test"), "test row")
    st.caption(
        "The tree differs from the model "
        f"{_error_words(found['fitted'], fitted_words(loaded))}, "
        f"{_error_words(found['test'], n_test)}. Scores elsewhere on this page are "
        "against the model, not against the truth."
    )
    if st.button(
        "Find where it differs",
        icon=":material/difference:",
        key="residual",
        help="Trains a CART that predicts, from the same features, on which rows this "
        "tree differs from the model, or by how much. It becomes a run.",
    ):
        _open_residual(loaded.run)


def _error_words(found: Imitation, rows: str) -> str:
    """Say how often, or by how much, the tree differs on some rows."""
    if found.task == "regression":
        return f"by {significant(found.fidelity['mae'])} on average on {rows}"
    return f"on {percent(1 - found.fidelity['accuracy'])} of {rows}"


def _open_residual(run: Run) -> None:
    """Train the residual tree, or open it where there is one, and turn to Train."""
    try:
        problem = residual_problem(store(), run)
    except ValueError as error:
        st.info(plain(error), icon=":material/info:")
        return
    title = residual_title(run)
    known = [r for r in store().runs() if r.title == title and r.problem == problem]
    if known:
        run_id = known[0].id
    else:
        run_id = store().create("cart", {}, problem, title=title)
        queue().submit(run_id)
    st.switch_page("pages/train.py", query_params={"run": run_id})
