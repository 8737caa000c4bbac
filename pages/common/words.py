"""How pages write numbers, times, states and runs."""

from treelab.learners.registry import LEARNERS
from treelab.metrics import headline
from treelab.runs.store import Run

METRIC_NAMES = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "r2": "R²",
    "rmse": "RMSE",
    "mae": "MAE",
}
TASK_NAMES = {
    "binary": "two classes",
    "multiclass": "several classes",
    "regression": "a number",
}
SPLIT_NAMES = {"train": "training", "valid": "validation", "test": "test"}


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with ``digits`` significant digits, a dash for none."""
    if value is None or value != value:
        return "–"
    if value and not 1e-4 <= abs(value) < 10**6:
        return f"{value:.{digits - 1}e}".replace("-", "−")
    decimals = 0
    if value:
        decimals = max(0, digits - len(str(int(abs(value)))) + (abs(value) < 1))
    return f"{value:,.{decimals}f}".replace("-", "−")


def count(n: int, one: str, many: str | None = None) -> str:
    """Write a count with its noun: ``1 run``, ``2 runs``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def duration(seconds: float | None) -> str:
    """Write a time span in the largest unit that reads well."""
    if seconds is None or seconds != seconds:
        return "–"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"


def learner_title(run: Run) -> str:
    """Return a run's own name if it was given one, else its learner's."""
    return run.title or LEARNERS[run.learner].title


def score(run: Run, split: str = "test") -> float | None:
    """Return a run's headline score on a split, or None before there is one."""
    return ((run.metrics or {}).get(split) or {}).get(headline(run.problem.task))


def score_words(run: Run, split: str = "test") -> str:
    """Write a run's headline score with its metric and its split."""
    value = score(run, split)
    if value is None:
        return run.state
    metric = METRIC_NAMES[headline(run.problem.task)]
    return f"{number(value)} {metric} · {SPLIT_NAMES[split]}"
