"""The slider over a pruning path: lambda of an argmin tree, else ccp_alpha."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.pruning_steps import PruningSteps
from treelab.evaluation.knee import knee_of
from treelab.trees.text.numerals import counted, shortest


def pick_step(loaded: LoadedRun, steps: PruningSteps, labels: list[str]) -> int:
    """Let the visitor slide along the path."""
    trained = steps.chosen is not None
    return st.select_slider(
        strength_name(steps),
        range(len(steps.trees)),
        value=steps.chosen if trained else knee_of(steps.table),
        format_func=labels.__getitem__,
        key=f"step-{loaded.run.id}",
        help="How strongly small trees are preferred; all strengths were trained "
        "together."
        if trained
        else "How much impurity a leaf must remove to stay (cost-complexity pruning).",
    )


def strength_name(steps: PruningSteps) -> str:
    """Name what the slider changes."""
    if steps.chosen is not None:
        return "Pruning strength (lambda)"
    return "Complexity penalty (ccp_alpha)"


def step_labels(steps: PruningSteps) -> list[str]:
    """Name each step of the slider; no two names are alike."""
    labels: list[str] = []
    for strength, leaves in zip(steps.table["strength"], steps.table["leaves"]):
        label = f"{shortest(strength)} · {counted(leaves, 'leaf', 'leaves')}"
        while label in labels:
            label += " again"
        labels.append(label)
    return labels
