"""What to say when a loss stops being a number."""

import warnings

from treelab.training.loop import TrainResult


def warn_if_diverged(result: TrainResult) -> None:
    """Warn, by epoch, that training ended early and the best so far was kept."""
    if result.reason == "nan":
        warnings.warn(
            f"The loss was no longer a number at epoch {result.epochs}; training "
            "stopped and the best before it is kept. Try a smaller learning_rate.",
            RuntimeWarning,
            stacklevel=4,
        )
