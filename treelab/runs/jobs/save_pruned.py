"""Another tree of a run's pruning path becomes a run of its own."""

from dataclasses import replace

from treelab.runs.jobs.derived import save_derived, with_origin_of
from treelab.runs.jobs.model_facts import model_size, without_origin
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore
from treelab.trees.pruning import SizePath
from treelab.trees.pruning_path import PruningPath
from treelab.trees.tree import Tree
from treelab.trees.words import counted


def save_pruned(
    store: RunStore, run: Run, model: Tree | PruningPath, path: SizePath | None = None
) -> str:
    """Save a tree that was chosen by hand as a run that is done; return the run's id.

    The same tree again is the same run, whatever its title is by now, and the tree
    that was retained is the run that trained it.

    Parameters
    ----------
    store : RunStore
    run : Run
        That which trained it, or one that was saved from that.
    model : Tree or PruningPath
        Of a trained path the whole, its chosen tree the one.
    path : SizePath or None, default=None
        The run's trees by size, where the tree is one of them.
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
    for known in store.runs():
        if chosen.items() <= known.summary.items():
            return known.id
    sentence = (
        f"Chosen by hand on the pruning path of “{run.title}”, which has "
        f"{counted(run.summary['leaves'], 'leaf', 'leaves')}; test scores were shown "
        "beside it."
    )
    sentence = with_origin_of(sentence, run)

    def add_path(run_id: str) -> None:
        """Store the trees by size with the new run."""
        if path is not None:
            store.add_path(run_id, path)

    return save_derived(
        store,
        run,
        _noted(model, sentence, run),
        f"{run.short_title}, {size}",
        [sentence],
        chosen,
        add=add_path,
    )


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


def _noted(model: Tree | PruningPath, sentence: str, run: Run) -> Tree | PruningPath:
    """Return the model with a sentence in the place of its run's origin."""
    if isinstance(model, Tree):
        tree = without_origin(model, run.provenance)
        return replace(tree, notes=(sentence, *tree.notes))
    trees = [*model.trees]
    trees[model.chosen] = replace(model.tree, notes=(sentence, *model.tree.notes))
    return replace(model, trees=tuple(trees))
