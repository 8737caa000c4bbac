"""What the code of an ensemble needs of it, free of any language."""

from treelab.trees.code.names import comment, input_lines
from treelab.trees.code.splits import inputs
from treelab.trees.ensemble import WeightedTrees


def ensemble_heading(model: WeightedTrees) -> list[str]:
    """Return the lines that open the code: what it predicts, from which columns."""
    unit = f" ({model.target_unit})" if model.target_unit else ""
    return [
        comment(f"Ensemble of decision trees that predicts {model.target}{unit}"),
        f"{model.n_estimators:,} trees of depth {model.depth}, each weighted by the "
        "leaf that a row reaches; written by treelab.",
        *input_lines(inputs(model)),
        *(comment(note) for note in model.notes),
    ]


def refuse_ensemble(model: object, language: str) -> None:
    """Raise ValueError for an ensemble in a language that cannot hold one."""
    if isinstance(model, WeightedTrees):
        raise ValueError(
            f"{language} has no ensemble whose weights depend on the row, as those of "
            "this one do. Export ONNX, Python or C, or one of its trees."
        )
