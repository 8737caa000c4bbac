"""All trees of a small depth beside a run's own: looked at as a run of its own."""

import json
from collections.abc import Sequence

from treelab.editing.regrow import class_weights
from treelab.evaluation.rashomon_enumeration import all_trees
from treelab.learners.common.origin import Origin, with_origin
from treelab.runs.jobs.fit import Fitted
from treelab.runs.jobs.model_facts import fitted_split
from treelab.runs.jobs.rashomon.trees_of_run import asked_of, keeps_constraints
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.training.events import Callback
from treelab.trees.constraints import Constraints
from treelab.trees.pruning_path import shown_tree
from treelab.trees.words import counted

N_THRESHOLDS = {2: 16, 3: 4}  # by depth: of a column, by default


def create_all(store: RunStore, run: Run, depth: int, n_thresholds: int) -> str:
    """Create the run that looks at all trees of a depth; return its id."""
    run_id = store.create(
        run.learner,
        run.settings,
        run.problem,
        device=run.device,
        title=f"{run.short_title}, all trees of depth {depth}",
    )
    asked = {"run": run.id, "all_of_depth": depth, "n_thresholds": n_thresholds}
    store.add_more(run_id, json.dumps(asked))
    return run_id


def fit_all(store: RunStore, run: Run, callbacks: Sequence[Callback]) -> Fitted:
    """Look at all trees of a depth; the run's tree is the best of them.

    Raises
    ------
    ValueError
        If the first run is gone, or there are too many trees.
    """
    asked, parent, model = asked_of(store, run)
    own = shown_tree(model)
    split = run.problem.split(store.table(run.problem.table_id))
    constraints = Constraints.read(run.settings.get("constraints"))
    found = all_trees(
        own,
        split.rows(fitted_split(model, split)),
        class_weights(own),
        asked["all_of_depth"],
        asked["n_thresholds"],
        min_samples_leaf=constraints.min_samples_leaf or 1,
        keeps=keeps_constraints(run),
    )
    assert found.complete is not None
    origin = Origin("search", trained=False, n_splits=found.tree.n_splits, n_changed=0)
    sentence = (
        f"The best on the training rows of all trees of depth {asked['all_of_depth']} "
        f"over {counted(found.complete.n_cutpoints, 'threshold')}, those of the "
        f"features of “{parent.title}”."
    )
    return Fitted(
        with_origin(found.tree, origin),
        run.problem,
        split,
        notes=(sentence,),
        measured={"more_from": parent.id},
        origin=origin,
        rashomon=found,
    )
