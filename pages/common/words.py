"""How pages write times, scores and runs."""

import re

from treelab.evaluation.metrics import TITLES, headline
from treelab.learners.registry import learner_title
from treelab.runs.store.run import Run
from treelab.trees.text.numerals import significant

SPLIT_NAMES = {"train": "training", "valid": "validation", "test": "test"}


def duration(seconds: float | None) -> str:
    """Write a time span in the units that read well; a dash for none."""
    if seconds is None:
        return "–"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def run_name(run: Run) -> str:
    """Return a run's name without its table, which the page names already."""
    learner = learner_title(run.learner)
    return (
        learner if run.title == f"{learner} · {run.problem.table_name}" else run.title
    )


def score(run: Run, split: str = "test") -> float | None:
    """Return a run's headline score on a split, or None before there is one."""
    return ((run.metrics or {}).get(split) or {}).get(headline(run.problem.task))


def score_words(run: Run, split: str = "test") -> str:
    """Write a run's headline score with its metric, split and rows; else its state."""
    value = score(run, split)
    if value is None:
        return run.state
    metric = TITLES[headline(run.problem.task)]
    n_rows = run.metrics[split]["n_rows"]
    return f"{significant(value)} {metric} · {SPLIT_NAMES[split]}, {n_rows:,.0f} rows"


def plain(text: object) -> str:
    """Return text that Streamlit's Markdown shows as it stands."""
    return re.sub(r"([\\`*_{}\[\]()#|~$:<>!+-])", r"\\\1", str(text))
