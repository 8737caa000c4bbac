"""Whether other trees that score alike would predict a row otherwise."""

import numpy as np
import streamlit as st

from pages.cached.rashomon import (
    DEFAULT_TOLERANCE,
    near_value,
    stored_trees,
)
from pages.cached.runs import LoadedRun
from pages.widgets.row import Row
from pages.widgets.words import plain, with_unit
from treelab.evaluation.rashomon import predictions, row_multiplicity
from treelab.trees.words import counted, shortest


def show_other_trees(loaded: LoadedRun, row: Row) -> None:
    """Say how many trees as good as the run's predict a row otherwise."""
    trees = stored_trees(loaded)
    if trees is None:
        return
    near = trees.within(DEFAULT_TOLERANCE)
    if len(near) < 2:
        return
    predicted, value = predictions([trees.trees[i] for i in near], row.values)
    own = int(np.flatnonzero(near == trees.chosen)[0])
    found = row_multiplicity(predicted[:, 0], value[:, 0], own, near_value(loaded))
    st.subheader("Would other trees as good predict the same?", anchor=False)
    of = f"{found.n_otherwise} of {counted(found.n_trees, 'tree')}"
    if loaded.model.classes is None:
        what = (
            f"a value more than 0.1 standard deviations away; values range from "
            f"{with_unit(loaded, found.lowest)} to {with_unit(loaded, found.highest)}"
        )
    else:
        label = loaded.model.classes[int(predicted[own, 0])]
        what = (
            f"another class; the probability of “{plain(label)}” ranges from "
            f"{found.lowest:.2f} to {found.highest:.2f}"
        )
    st.markdown(
        f"**{of}** that score at most {shortest(DEFAULT_TOLERANCE)} below this one "
        f"predict {what}."
    )
    st.page_link(
        "pages/tree.py",
        label="See these trees",
        icon=":material/grid_view:",
        query_params={"run": loaded.run.id, "tab": "Alternatives"},
    )
