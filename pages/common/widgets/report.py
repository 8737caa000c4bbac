"""Runs as documents: a report, and the model card of one run."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.common.cached.store import store
from treelab.reports.run_report import model_card, run_report
from treelab.runs.store.run import Run


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
