"""What the code of an ensemble needs of it, free of any language."""

import numpy as np

from treelab.trees.code.names import comment, input_lines
from treelab.trees.code.splits import inputs
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.logits import FAR_BEHIND, unscaled_weights

FAR_BELOW = f"{FAR_BEHIND:.0e}"  # as it is written


def ensemble_heading(model: WeightedTrees) -> list[str]:
    """Return the lines that open the code: what it predicts, from which columns."""
    unit = f" ({model.target_unit})" if model.target_unit else ""
    by_row = (model.leaf_weight != model.leaf_weight[:, :1]).any()
    weighted = "by the leaf that a row reaches" if by_row else "alike for every row"
    if model.n_deciding < model.n_estimators:
        weighted += f", at most {model.n_deciding} of them"
    return [
        comment(f"Ensemble of decision trees that predicts {model.target}{unit}"),
        f"{model.n_estimators:,} trees of depth {model.depth}, each weighted "
        f"{weighted}; written by treelab.",
        *input_lines(inputs(model)),
        *(comment(note) for note in model.notes),
    ]


def fixed_weights(model: WeightedTrees) -> np.ndarray | None:
    """Return the weight of each tree where it is the same for every row, (E,).

    None where weights differ by leaf, or where leaves hold logits: the weighted mean of
    these is no prediction yet.
    """
    by_row = (model.leaf_weight != model.leaf_weight[:, :1]).any()
    if by_row or (model.classes is not None and model.leaf_output == "logits"):
        return None
    return unscaled_weights(
        model.leaf_weight[:, 0], model.weighting, model.max_deciders
    )


def refuse_ensemble(model: object, language: str) -> None:
    """Raise ValueError for an ensemble in a language that cannot hold one."""
    if isinstance(model, WeightedTrees):
        raise ValueError(
            f"{language} cannot hold this ensemble, whose weights depend on the row or "
            "whose leaves hold logits. Export ONNX, Python or C, or one of its trees."
        )
