"""Files of a run to keep: trees, code, pictures, the report."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.cached.runs import LoadedRun
from pages.cached.store import store
from treelab.figures.layout import has_dot
from treelab.reports.run_report import model_card, run_report
from treelab.reports.tree_files import HAS_ONNX, WHOLE, picture_files, tree_files
from treelab.reports.tree_page import html_page
from treelab.trees.code import LANGUAGES
from treelab.trees.tree import Tree


def export_box(loaded: LoadedRun, tree: Tree, estimator: int | None) -> None:
    """Offer the tree as a file, made when it is asked for."""
    name = loaded.run.id
    if estimator is not None:
        name = f"{name}-tree-{estimator}"
    page = partial(html_page, tree, store(), loaded.run, estimator)
    files = picture_files(tree) if has_dot() else {}
    files |= {"Interactive page (HTML)": ("html", page, "text/html")}
    files |= tree_files(loaded.model, tree)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        wanted = st.selectbox("Export", list(files), key="export-as")
        ending, data, mime = files[wanted]
        is_whole, of = wanted.startswith(WHOLE), " of this tree"
        if is_whole:
            name, of = loaded.run.id, ""
        st.download_button(
            "Download",
            data,
            f"{name}.{ending}",
            mime,
            key=f"export-{name}-{ending}",
            on_click="ignore",
            icon=":material/download:",
            help=f"{wanted}{of}, as a file.",
        )
    if is_whole:
        st.caption(
            "Runs without treelab and returns the ensemble's prediction for each row. "
            "PMML holds one whose weights are the same for every row, SQL none."
        )
    elif wanted in ("ONNX", *(title for title, _, _ in LANGUAGES.values())):
        only = ", not the ensemble's" if loaded.is_ensemble else ""
        st.caption(
            f"Runs without treelab and returns this tree's prediction{only} for each "
            "row."
        )
    elif loaded.model.has_predictor:
        st.caption(
            "As code it would predict otherwise: a predictor on top of the tree makes "
            "the predictions. The model file and JSON hold both."
        )
    else:
        more = [] if has_dot() else ["SVG and PDF need Graphviz"]
        more += [] if HAS_ONNX else ["ONNX needs the package onnx"]
        if more:
            st.caption(f"{'; '.join(more)}.")


def report_buttons(shown: Sequence[LoadedRun]) -> None:
    """Offer a report of finished runs, made when it is asked for."""
    runs = [loaded.run for loaded in shown]
    if not all(run.has_model for run in runs):
        return
    if any(loaded.output or loaded.outputs for loaded in shown):
        st.caption("A report or model card is of a model that predicts one number.")
        return
    name = "-".join(run.id for run in runs)
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "Report",
            partial(run_report, store(), runs),
            f"report-{name}.html",
            "text/html",
            key=f"report-{name}",
            on_click="ignore",
            icon=":material/description:",
            help="One HTML file that opens without a server: scores with intervals, "
            "trees, explained rows, limits, data and settings.",
        )
        if len(runs) == 1:
            st.download_button(
                "Model card",
                partial(model_card, store(), runs[0]),
                f"model-card-{name}.md",
                "text/markdown",
                key=f"model-card-{name}",
                on_click="ignore",
                icon=":material/badge:",
                help="Data, training, scores and limits in Markdown; the intended use "
                "is left to fill in.",
            )
