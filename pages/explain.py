"""Explain: pick a test row or change it, show the prediction and what decided it."""

import streamlit as st

from pages.cached.runs import LoadedRun, run_tree
from pages.explain.counterfactual import show_counterfactuals
from pages.explain.explanation import (
    explain_ensemble,
    explain_tree,
    show_contributions,
    show_prediction,
    show_simple_rules,
)
from pages.explain.others import show_other_trees
from pages.explain.overall import show_overall
from pages.explain.which_row import pick_place
from pages.widgets.page import page_title
from pages.widgets.row import pick_row
from pages.widgets.runs import pick_loaded_run
from treelab.figures.tree import columns_by_path


def heaviest_tree(loaded: LoadedRun, place: int) -> int | None:
    """Return an ensemble's heaviest tree on a test row; None for a single tree."""
    if not loaded.is_ensemble:
        return None
    row = loaded.split.X_test.iloc[[place]]
    return int(loaded.model.top_estimators(row)[0][0, 0])


page_title(
    "Why this answer?",
    "The prediction for one test row and what decided it; change a value to see what "
    "it changes.",
)
loaded = pick_loaded_run()
place = pick_place(loaded)
prediction = st.container(key="prediction", gap="xsmall")
deciding = run_tree(loaded, heaviest_tree(loaded, place))
row = pick_row(
    loaded, place, columns_by_path(deciding, loaded.split.X_test.iloc[[place]])
)
with prediction:
    show_prediction(loaded, row)
if loaded.is_ensemble:
    explain_ensemble(loaded, row)
else:
    explain_tree(loaded, row)
if not loaded.has_predictor:
    show_contributions(loaded, row)
show_counterfactuals(loaded, row, place)
show_other_trees(loaded, row)
if loaded.is_ensemble:
    show_simple_rules(loaded)
show_overall(loaded, row)
