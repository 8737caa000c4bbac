"""More trees that score like a run's own: a batch of restarts, trained as a run."""

import json
from collections.abc import Sequence

from treelab.editing.regrow import class_weights
from treelab.learners.registry import make_estimator
from treelab.runs.jobs.fit import Fitted
from treelab.runs.jobs.model_facts import fitted_split, without_origin
from treelab.runs.jobs.rashomon.trees_of_run import asked_of, rashomon_set
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.training.events import Callback
from treelab.trees.pruning_path import shown_tree
from treelab.trees.tree import Tree
from treelab.trees.words import counted

N_RESTARTS = 24  # of each size
LARGER = 2  # times the leaves of the run's tree


def can_find_more(run: Run) -> bool:
    """Whether a run's learner trains a batch of restarts."""
    has_batch = run.learner == "gradtree" and not run.follows_paper
    return has_batch and not run.problem.origin


def create_more(store: RunStore, run: Run, n_restarts: int = N_RESTARTS) -> str:
    """Create the run that finds more trees beside a run's own; return its id."""
    run_id = store.create(
        run.learner,
        run.settings,
        run.problem,
        device=run.device,
        title=f"{run.short_title}, more trees",
    )
    store.add_more(run_id, json.dumps({"run": run.id, "n_restarts": n_restarts}))
    return run_id


def fit_more(store: RunStore, run: Run, callbacks: Sequence[Callback]) -> Fitted:
    """Train restarts of several sizes on all rows; the run's tree is its parent's.

    Raises
    ------
    ValueError
        If the parent is gone.
    """
    asked, parent, model = asked_of(store, run)
    assert isinstance(model, Tree)
    own, path = shown_tree(model), store.path(parent.id)
    known = store.rashomon(parent.id)
    split = run.problem.split(store.table(run.problem.table_id))
    rows = split.rows(fitted_split(model, split))
    n_known = 0 if known is None else known.n_candidates
    estimator = make_estimator(
        run.learner,
        run.problem.task,
        run.settings,
        # Not the starts of the first batch again, nor of one found since.
        random_state=run.problem.seed + 1 + n_known,
        device=run.device,
    )
    batch = estimator.train_batch(
        *rows,
        most_leaves=LARGER * own.n_leaves,
        n_restarts=asked["n_restarts"],
        weights=class_weights(own),
        callbacks=callbacks,
    )
    trees = [*batch.export(*rows), *(() if known is None else known.trees)]
    found = rashomon_set(run, own, trees, rows, path)
    sentence = (
        f"The tree of “{parent.title}”; {counted(len(batch.trees), 'more tree')} were "
        "trained beside it, to choose from."
    )
    return Fitted(
        without_origin(model, parent.provenance),
        run.problem,
        split,
        notes=(sentence,),
        measured={"more_from": parent.id, "provenance": sentence},
        path=path,
        rashomon=found,
    )
