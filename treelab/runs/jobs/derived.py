"""A model made of a run's by hand, or another tree of its path, becomes a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from treelab.data.split import DataSplit
from treelab.editing.log import tree_hash
from treelab.runs.jobs.fit import Fitted, fitted_split, model_size, without_origin
from treelab.runs.jobs.save_model import save_as_run
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning import SizePath
from treelab.trees.pruning_path import Model, PruningPath, shown_tree
from treelab.trees.rashomon import RashomonSet
from treelab.trees.tree import Tree, knows_interval
from treelab.trees.words import counted


def save_derived(
    store: RunStore,
    run: Run,
    model: Tree | PruningPath,
    title: str,
    sentence: str,
    facts: Mapping[str, str],
    *,
    more: Sequence[str] = (),
    edits: str = "",
    path: SizePath | None = None,
    rashomon: RashomonSet | None = None,
    is_same: Callable[[Run], bool] = lambda known: True,
) -> str:
    """Save a model made of a run's as a run of the same problem; return its id.

    One of the same facts is that run already, if it ``is_same``.

    The sentence says how it was made; with how the run's began, where that is known, it
    becomes its provenance and a note, in the place of that of the run's model; there
    may be ``more``. Facts go into its summary, among them the run that it came from.
    The log of edits is JSON.
    """
    for known in store.runs():
        if facts.items() <= known.summary.items() and is_same(known):
            return known.id
    if run.origin is not None:
        sentence += f" Of that run: {run.origin.headline}"
    split = run.problem.split(store.table(run.problem.table_id))
    notes = sentence, *more
    if isinstance(model, Tree):
        tree = without_origin(model, run.provenance)
        tree = replace(tree, notes=(*notes, *tree.notes))
        model = with_interval_as(tree, store.model(run.id), split)
    else:
        trees = [*model.trees]
        trees[model.chosen] = replace(model.tree, notes=(*notes, *model.tree.notes))
        model = replace(model, trees=tuple(trees))
    measured: dict[str, float | str] = {**facts, "provenance": sentence}
    if "held_out_title" in run.summary:
        measured["held_out_title"] = run.summary["held_out_title"]
    fitted = Fitted(
        model, run.problem, split, notes, measured, path=path, rashomon=rashomon
    )
    return save_as_run(store, fitted, title, run, edits)


def with_interval_as(tree: Tree, parent: Model, split: DataSplit) -> Tree:
    """Let a tree that was made of another one know its interval, if that knew one."""
    if not knows_interval(parent) or parent.outputs:
        return tree
    from treelab.learners.common.certainty import with_interval  # loads scikit-learn
    from treelab.learners.common.folds import Rows

    X, y, weight = split.rows(fitted_split(tree, split))
    if weight is not None:
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    values, level = np.asarray(y, dtype=np.float64), parent.interval_level or 0.0
    groups = None if split.groups is None else split.groups.loc[X.index].to_numpy()
    return with_interval(tree, Rows(X, values, weight, groups), level=level, seed=0)


def save_pruned(
    store: RunStore, run: Run, model: Tree | PruningPath, path: SizePath | None = None
) -> str:
    """Save a tree that was chosen by hand as a run that is done; return the run's id.

    The same tree again is the same run, whatever its title is by now, and the tree that
    was retained is the run that trained it. The run is that one, or was saved from
    that. Of a trained path the model is the whole, its chosen tree the one; the path
    has the run's trees by size, where the tree is one of them.
    """
    run = _trained(store, run, model, path)
    trained = store.model(run.id)
    if _is_own(model, path, trained, store.path(run.id)):
        return run.id
    size = counted(model_size(model)["leaves"], "leaf", "leaves")
    if isinstance(model, PruningPath):
        size += f", lambda {model.strengths[model.chosen]:g}"
    elif isinstance(trained, PruningPath):
        size += ", tree alone"
    chosen = {"pruned_from": run.id, "pruned_to": size}
    sentence = (
        f"Chosen by hand on the pruning path of “{run.title}”, which has "
        f"{counted(run.summary['leaves'], 'leaf', 'leaves')}; test scores were shown "
        "beside it."
    )
    title = f"{run.short_title}, {size}"

    def is_same(known: Run) -> bool:
        """Whether a run of this size has this tree; of two strengths it may not."""
        return isinstance(model, PruningPath) or _hash(model) == _hash(
            store.model(known.id)
        )

    return save_derived(
        store, run, model, title, sentence, chosen, path=path, is_same=is_same
    )


def _hash(model: Model) -> str:
    """Return a short hash of a tree without its interval, which each run measures."""
    return tree_hash(replace(shown_tree(model), interval=None, interval_level=None))


def _trained(
    store: RunStore, run: Run, model: Tree | PruningPath, path: SizePath | None
) -> Run:
    """Return the run from whose path a saved tree's run is, where it is left."""
    try:
        parent = store.run(run.summary.get("pruned_from", ""))
        known = store.model(parent.id)
    except LookupError:
        return run
    # A tree alone is no tree of the path that it was taken from.
    same_path = (store.path(parent.id) is None) == (path is None)
    return parent if type(known) is type(model) and same_path else run


def _is_own(
    model: Tree | PruningPath,
    path: SizePath | None,
    trained: Tree | PruningPath,
    known: SizePath | None,
) -> bool:
    """Whether a tree of a trained model's path is the one that was retained."""
    if isinstance(model, PruningPath) and isinstance(trained, PruningPath):
        return model.chosen == trained.chosen
    if path is not None and known is not None:
        return path.chosen == known.chosen
    if isinstance(trained, PruningPath):
        return False
    return model_size(model) == model_size(trained)
