"""The slider over a pruning path: by lambda, number of leaves or ccp_alpha."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from treelab.evaluation.frontier import knee_of
from treelab.evaluation.pruning import PruningSteps
from treelab.trees.words import counted, shortest

_NAMES = {
    "lambda": "Pruning strength (lambda)",
    "leaves": "Number of leaves",
    "alpha": "Complexity penalty (ccp_alpha)",
}
_HELP = {
    "lambda": "How strongly small trees are preferred; each strength trained a tree of "
    "its own, all at once.",
    "leaves": "At most so many leaves; the best tree that was found at each size.",
    "alpha": "How much impurity a leaf must remove to stay (cost-complexity pruning).",
}


def pick_step(loaded: LoadedRun, steps: PruningSteps, labels: list[str]) -> int:
    """Let the visitor slide along the path."""
    return st.select_slider(
        strength_name(steps),
        range(len(steps.trees)),
        value=knee_of(steps.table) if steps.chosen is None else steps.chosen,
        format_func=labels.__getitem__,
        key=f"step-{loaded.run.id}",
        help=_HELP[steps.kind],
    )


def strength_name(steps: PruningSteps) -> str:
    """Name what the slider changes."""
    return _NAMES[steps.kind]


def step_labels(steps: PruningSteps) -> list[str]:
    """Name each step of the slider; no two names are alike."""
    if steps.kind == "leaves":  # no two are of one size
        return [counted(leaves, "leaf", "leaves") for leaves in steps.table["leaves"]]
    labels: list[str] = []
    for strength, leaves in zip(steps.table["strength"], steps.table["leaves"]):
        label = f"{shortest(strength)} · {counted(leaves, 'leaf', 'leaves')}"
        while label in labels:
            label += " again"
        labels.append(label)
    return labels
