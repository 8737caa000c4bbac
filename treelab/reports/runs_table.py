"""Runs as one table, in words that people sort by."""

from collections.abc import Sequence

import pandas as pd

from treelab.evaluation.comparison import mean_over_splits
from treelab.evaluation.metrics import TITLES
from treelab.learners.registry import IMPORTED, learner_title
from treelab.learners.setting_text import setting_words
from treelab.runs.jobs.repeats import runs_by_seed
from treelab.runs.run_words import has_default_name, origin_words, score
from treelab.runs.store.run import Run
from treelab.trees.words import counted, significant


def runs_table(runs: Sequence[Run], known: Sequence[Run]) -> pd.DataFrame:
    """Return one row a run; ``known`` are all runs, among which their repeats are."""
    repeated = {run.repeat_of for run in known}
    leaves = [(run.summary or {}).get("leaves") for run in runs]
    trained = [run.started and run.learner != IMPORTED for run in runs]
    seconds = [run.elapsed if own else None for own, run in zip(trained, runs)]
    owners = [f"{run.user}, private" if run.is_private else run.user for run in runs]
    splits = [_splits(run, known) if run.id in repeated else "" for run in runs]
    settings = [
        setting_words(run.learner, run.settings, run.problem.task) for run in runs
    ]
    return pd.DataFrame(
        {
            "learner": [learner_title(run.learner, run.settings) for run in runs],
            "name": ["" if has_default_name(run) else run.title for run in runs],
            "score": pd.array([score(run) for run in runs], dtype="Float64"),
            "metric": [TITLES[run.headline] for run in runs],
            "state": [f"● {run.state}" for run in runs],
            "table": [run.problem.table_name for run in runs],
            "target": [run.problem.target_name for run in runs],
            "weighted by": [run.problem.weighting for run in runs],
            "splits": splits,
            "leaves": pd.array(leaves, dtype="Int64"),
            "seconds": pd.array(seconds, dtype="Float64"),
            "created": pd.to_datetime([r.created for r in runs], unit="s", utc=True),
            "settings": settings,
            "origin": [origin_words(run) for run in runs],
            "owner": owners,
        }
    )


def _splits(run: Run, known: Sequence[Run]) -> str:
    """Write the mean over the data splits on which a run was repeated, "" for none."""
    found = [score(own) for own in runs_by_seed(run, known).values()]
    scores = [value for value in found if value is not None]
    if len(scores) < 2:
        return ""
    mean, error = mean_over_splits(scores)
    count = counted(len(scores), "fold") if run.problem.n_folds else len(scores)
    return f"{significant(mean)} ± {significant(error, 2)} ({count})"
