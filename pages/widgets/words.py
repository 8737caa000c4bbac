"""How pages write times, scores, rows and runs."""

import re
from collections.abc import Mapping, Sequence

import streamlit as st

from pages.cached.runs import LoadedRun
from treelab.data.split import SPLIT_NAMES
from treelab.evaluation.metrics import TITLES
from treelab.learners.registry import learner_title
from treelab.runs.store.run import Run
from treelab.trees.text import rule_text
from treelab.trees.tree import Tree
from treelab.trees.words import counted, significant

LONGEST_RULE = 300  # letters that a sentence may hold


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
    if not has_default_name(run):
        return run.short_title
    paper = " (paper)" if run.follows_paper else ""
    return f"{learner_title(run.learner)}{paper}"


def run_names(runs: Sequence[Run]) -> dict[str, str]:
    """Name runs, newest first, so that no two are alike; the oldest has no number."""
    return distinct({run.id: run_name(run) for run in runs})


def distinct(names: Mapping[str, str]) -> dict[str, str]:
    """Number names, newest first, of which some are alike; the oldest stays bare.

    A select box tells its options by their words: of two that read alike it would take
    the first, whichever was chosen.
    """
    own: dict[str, str] = {}
    for key, name in reversed(names.items()):
        numbered, number = name, 2
        while numbered in own.values():
            numbered, number = f"{name} {number}", number + 1
        own[key] = numbered
    return {key: own[key] for key in names}


def has_default_name(run: Run) -> bool:
    """Whether nobody gave a run a name of its own."""
    return run.title == f"{learner_title(run.learner)} · {run.problem.table_name}"


def origin_words(run: Run) -> str:
    """Write in one or two sentences how a run's model came about; "" where unknown."""
    recipe = "Paper's recipe. " if run.follows_paper else ""
    return recipe + (run.origin.headline if run.origin else run.provenance)


def score(run: Run, split: str = "test", metric: str = "") -> float | None:
    """Return a run's score on a split, its headline's or a named one; None without."""
    return ((run.metrics or {}).get(split) or {}).get(metric or run.headline)


def score_words(run: Run, split: str = "test") -> str:
    """Write a run's headline score with its metric, split and rows; else its state."""
    value = score(run, split)
    if value is None:
        return run.state
    metric = TITLES[run.headline]
    rows = f"{run.metrics[split]['n_rows']:,.0f} rows{run.problem.weighted_words}"
    return f"{significant(value)} {metric} · {SPLIT_NAMES[split]}, {rows}"


def split_words(loaded: LoadedRun, split: str) -> str:
    """Name a data split with its size: "test, 114 rows"."""
    n_rows = counted(loaded.n_rows(split), "row")
    return f"{SPLIT_NAMES[split]}, {n_rows}{loaded.run.problem.weighted_words}"


def fitted_words(loaded: LoadedRun) -> str:
    """Name the rows that a run's model was fitted to: "341 training rows"."""
    split = loaded.fitted_split
    return counted(loaded.n_rows(split), f"{SPLIT_NAMES[split]} row")


def capital(text: str) -> str:
    """Begin a sentence with a capital, and leave names in it as they are."""
    return text[:1].upper() + text[1:]


def with_unit(loaded: LoadedRun, value: float) -> str:
    """Write a value of the target with its unit."""
    return f"{significant(value)} {loaded.model.target_unit}".rstrip()


def named_with_unit(name: object, unit: str) -> str:
    """Write what an axis shows, with its unit: "weight (kg)"."""
    return f"{name} ({unit})" if unit else str(name)


def short_rule(tree: Tree, node: int) -> str:
    """Write a node's rule; where that is long, three terms of each weighted sum."""
    rule = rule_text(tree, node)
    return rule if len(rule) <= LONGEST_RULE else rule_text(tree, node, most=3)


def percents(**columns: str) -> dict:
    """Return how a table shows columns of fractions, by their names: their titles."""
    number = st.column_config.NumberColumn
    return {name: number(title, format="percent") for name, title in columns.items()}


def plain(text: object) -> str:
    """Return text that Streamlit's Markdown shows as it stands."""
    # A colon begins a name of Streamlit's where a letter follows it.
    return re.sub(r"([\\`*_{}\[\]()#|~$<>!+-]|:(?=\w))", r"\\\1", str(text))
