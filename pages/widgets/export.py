"""Files of a run to keep: trees, code, pictures, the report."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec

import streamlit as st

from pages.cached.runs import LoadedRun
from pages.cached.store import store
from treelab.figures.layout import has_dot, picture_file
from treelab.reports.run_report import model_card, run_report
from treelab.reports.tree_page import html_page
from treelab.runs.store.run import Run
from treelab.trees.code import LANGUAGES, ensemble_languages, to_onnx
from treelab.trees.dot import to_dot
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.text import to_text
from treelab.trees.tree import Tree

# A tree as a file: picture, page, code, text or data.


_WHOLE = "The whole ensemble"
_HAS_ONNX = find_spec("onnx") is not None


def export_box(loaded: LoadedRun, tree: Tree, estimator: int | None) -> None:
    """Offer the tree as a file, made when it is asked for."""
    name = loaded.run.id
    if estimator is not None:
        name = f"{name}-tree-{estimator}"
    files = _files(loaded, tree, estimator)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        wanted = st.selectbox("Export", list(files), key="export-as")
        ending, data, mime = files[wanted]
        name = loaded.run.id if wanted.startswith(_WHOLE) else name
        st.download_button(
            "Download",
            data,
            f"{name}.{ending}",
            mime,
            key=f"export-{name}-{ending}",
            on_click="ignore",
            icon=":material/download:",
            help=f"{wanted}, as a file."
            if wanted.startswith(_WHOLE)
            else f"{wanted} of this tree, as a file.",
        )
    if wanted.startswith(_WHOLE):
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
    elif loaded.has_predictor:
        st.caption(
            "As code it would predict otherwise: a predictor on top of the tree makes "
            "the predictions. The model file and JSON hold both."
        )
    else:
        more = [] if has_dot() else ["with Graphviz's dot SVG and PDF"]
        more += [] if _HAS_ONNX else ["with the package onnx ONNX"]
        if more:
            st.caption(f"Also, where installed: {' and '.join(more)}.")


def _files(
    loaded: LoadedRun, tree: Tree, estimator: int | None
) -> dict[str, tuple[str, Callable, str]]:
    """Return each kind of file: its ending, what writes it, and its MIME type."""
    files: dict[str, tuple[str, Callable, str]] = {}
    if has_dot():
        for kind, mime in (("svg", "image/svg+xml"), ("pdf", "application/pdf")):
            # DOT is written when the file is asked for.
            write = partial(lambda kind: picture_file(to_dot(tree), kind), kind)
            files[f"Picture ({kind.upper()})"] = kind, write, mime
    page = partial(html_page, tree, store(), loaded.run, estimator)
    files["Interactive page (HTML)"] = "html", page, "text/html"
    files["Picture (DOT)"] = "dot", partial(to_dot, tree), "text/vnd.graphviz"
    if not loaded.has_predictor:
        files |= _code_files(tree)
    if isinstance(loaded.model, WeightedTrees):
        files |= _ensemble_files(loaded.model)
    files["Rules (text)"] = "txt", partial(to_text, tree), "text/plain"
    model = loaded.model.to_bytes
    files["Model (treelab.load)"] = "treelab", model, "application/zip"
    stored = loaded.model if loaded.has_predictor else tree
    files["Data (JSON)"] = (
        "json",
        lambda: json.dumps(stored.to_dict(), indent=1),
        "application/json",
    )
    return files


def _code_files(tree: Tree) -> dict[str, tuple[str, Callable, str]]:
    """Return the kinds of files that hold a tree as code."""
    files: dict[str, tuple[str, Callable, str]] = {
        title: (ending, partial(write, tree), "text/plain")
        for title, ending, write in LANGUAGES.values()
    }
    if _HAS_ONNX:
        files["ONNX"] = "onnx", partial(to_onnx, tree), "application/octet-stream"
    return files


def _ensemble_files(model: WeightedTrees) -> dict[str, tuple[str, Callable, str]]:
    """Return the kinds of files that hold all trees and their weights."""
    code = {
        LANGUAGES[name][0]: LANGUAGES[name][1:] for name in ensemble_languages(model)
    }
    files: dict[str, tuple[str, Callable, str]] = {
        f"{_WHOLE} as a {title}": (ending, partial(write, model), "text/plain")
        for title, (ending, write) in code.items()
    }
    if _HAS_ONNX:
        binary = "application/octet-stream"
        files[f"{_WHOLE} as ONNX"] = "onnx", partial(to_onnx, model), binary
    return files


# Runs as documents: a report, and the model card of one run.


def report_buttons(runs: Sequence[Run]) -> None:
    """Offer a report of finished runs, made when it is asked for."""
    if not all(run.has_model for run in runs):
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
