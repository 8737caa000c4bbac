"""Pictures of a run's trees, and of the trees of every size that it could have."""

from dataclasses import dataclass, replace

from pages.cached import runs as cached
from pages.cached.predictions import top_estimators
from pages.cached.runs import LoadedRun, run_colors, run_tree, shared
from pages.cached.store import store
from treelab.data.split import SPLIT_NAMES
from treelab.evaluation import pruning
from treelab.evaluation.ensembles import are_equal
from treelab.evaluation.metrics import TITLES, headline_score
from treelab.evaluation.pruning import PruningSteps
from treelab.figures.viewer.payload import Frames, to_json, tree_payload
from treelab.learners.registry import CLUSTERS
from treelab.runs.jobs.fit import without_origin
from treelab.runs.store.run import Run
from treelab.trees.pruning_path import PruningPath, shown_tree
from treelab.trees.tree import Tree
from treelab.trees.words import counted


@shared(16, "Measuring every tree on the path…")
def pruning_steps(loaded: LoadedRun, tree_alone: bool = False) -> PruningSteps:
    """Return a path's trees with scores; ``tree_alone``: their leaves predict."""
    path = cached.size_path_of(loaded.run) if loaded.epoch is None else None
    if loaded.output:  # its trees have every output
        path = None
    about = loaded.model, path, loaded.split, loaded.fitted_split
    how = {"has_labels": loaded.has_labels, "tree_alone": tree_alone}
    steps = pruning.pruning_steps(*about, **how)
    is_by_hand = "pruned_from" in loaded.run.summary
    return replace(steps, rule="" if is_by_hand else steps.rule)


def run_at(loaded: LoadedRun, step: int, tree_alone: bool = False) -> LoadedRun:
    """Return a run as if training had retained another tree of its path."""
    steps = pruning_steps(loaded, tree_alone)
    if step == steps.own and not tree_alone:
        return loaded
    model = steps.trees[step]
    if isinstance(loaded.model, PruningPath) and not tree_alone:
        model = replace(loaded.model, chosen=step)
    run = replace(loaded.run, metrics={})  # those of the retained tree
    variant = f"step {step}{', tree alone' * tree_alone}"
    return replace(loaded, run=run, model=model, variant=variant)


_SCRUBBER = 70  # pixels, with the marks below it
# Of each kind of path: the scrubber's name, the column of the path's table that scores
# its trees, and the rows behind that.
_KINDS = {
    "lambda": ("λ", "valid_score", "valid"),
    "leaves": ("Leaves", "held_out_score", "held out"),
    "alpha": ("Leaves", "test_score", "test"),
}


@dataclass(frozen=True)
class ViewerPayload:
    """A payload, written once, so that it need not be written at each rerun."""

    text: str  # as JSON
    scrubber: int  # pixels of the scrubber above the picture
    legend: int  # letters of the legend, with its gaps
    notes: tuple[int, ...]  # letters of each sentence below the first tree
    leaves_apart: bool = False  # whether leaves of one class are drawn one by one


@dataclass(frozen=True)
class TreePicture:
    """What the viewer draws, and the trees that it draws, one a frame."""

    payload: ViewerPayload
    trees: tuple[Tree, ...]
    chosen: int = 0  # the frame that is shown first
    steps: tuple[int, ...] = ()  # the step of the path that each frame is

    def tree(self, frame: int | None = None) -> Tree:
        """Return the tree of a frame, or of the one that is shown first."""
        at = self.chosen if frame is None else frame
        return self.trees[min(at, len(self.trees) - 1)]


def _viewer_payload(payload: dict, run: Run) -> ViewerPayload:
    """Write a run's payload, and measure what stands below its picture.

    Leaves of clusters are apart, whatever labels their rows have.
    """
    names = [entry["label"] for entry in payload["classes"]]
    names = names or [payload["target"]["name"], "a scale and its two ends"]
    return ViewerPayload(
        to_json(payload),
        _SCRUBBER if payload["frames"]["kind"] else 0,
        sum(len(name) + 6 for name in names),
        tuple(len(note) for note in payload["trees"][0]["notes"]),
        run.learner == CLUSTERS.key,
    )


@shared(96)
def tree_picture(
    loaded: LoadedRun, _tree: Tree, name: str, split: str = "fitted"
) -> TreePicture:
    """Return a tree, known by its name in the run, with rows of a data split."""
    return _picture(loaded, [_tree], split)


@shared(96)
def sketch(loaded: LoadedRun, _tree: Tree, name: str) -> ViewerPayload:
    """Return what a small picture of one tree needs, no histograms and no notes."""
    colors = run_colors(loaded) or None
    plain_tree = replace(_tree, notes=())
    payload = tree_payload(plain_tree, split=loaded.fitted_split, colors=colors)
    return _viewer_payload(payload, loaded.run)


def training_picture(
    loaded: LoadedRun, tree: Tree, split: str = "fitted"
) -> TreePicture | None:
    """Return a run's trees in training, the final one last; None without any."""
    epochs = tuple(store().snapshots(loaded.run.id))
    return _training_picture(loaded, epochs, split, tree) if epochs else None


@shared(16, "Reading the snapshots…")
def _training_picture(
    loaded: LoadedRun, epochs: tuple[float, ...], split: str, _tree: Tree
) -> TreePicture | None:
    """Return the trees of some epochs, and the last one."""
    found = {}
    for at in epochs:
        try:
            found[at] = shown_tree(store().snapshot(loaded.run.id, at))
        except LookupError:  # thinned out since it was listed
            continue
    if not found:
        return None
    values, trees = list(found), list(found.values())
    labels = [f"epoch {round(at, 1):g}" if at > 0 else "start" for at in values]
    if loaded.epoch is None:
        values.append(max(values) + 1)
        labels.append("final tree")
        trees.append(_tree)
    # Else no row is held out but for testing.
    scores, scored = None, "valid" if loaded.fitted_split == "train" else "fitted"
    if loaded.has_labels:
        task, loss = loaded.run.problem.task, loaded.model.loss
        X, y, weight = loaded.rows(scored)
        scores = [
            headline_score(task, y, tree.predict(X), weight, loss) for tree in trees
        ]
    about = labels, len(trees) - 1, scores, _score_label(loaded, scored)
    frames = Frames("epoch", "epoch", values, *about)
    return _picture(loaded, trees, split, frames)


@shared(16, "Writing every tree on the path…")
def path_picture(
    loaded: LoadedRun, tree_alone: bool = False, split: str = "fitted"
) -> TreePicture:
    """Return the trees of a run's pruning path, a frame a step."""
    steps = pruning_steps(loaded, tree_alone)
    if len(steps.trees) < 2:
        return replace(_picture(loaded, [steps.trees[0]], split), steps=(0,))
    name, score, rows = _KINDS[steps.kind]
    strengths = steps.table["strength"].tolist()
    scores = steps.table[score].tolist() if score in steps.table else None
    about = steps.labels, steps.own, scores, _score_label(loaded, rows)
    all_steps = Frames(steps.kind, name, strengths, *about)
    # Leaves grow to the right, as lambda does.
    order = range(len(strengths))[:: 1 if steps.kind == "lambda" else -1]
    marks = [(order.index(i), words) for i, words in steps.marks.items()]
    frames = replace(all_steps.take(order), marks=marks)
    picture = _picture(loaded, [steps.trees[i] for i in order], split, frames)
    return replace(picture, steps=tuple(order[i] for i in picture.steps))


def _score_label(loaded: LoadedRun, split: str) -> str:
    """Name the score of a frame, and the rows behind it."""
    metric = TITLES[loaded.headline]
    if split == "held out":
        return f"{loaded.run.held_out_title} · held-out rows"
    n_rows = f"{loaded.n_rows(split):,} rows"
    if split in ("valid", "test"):
        return f"{metric} · {SPLIT_NAMES[split]}, {n_rows}"
    return f"{metric} · {n_rows} it was fitted to"


def _picture(
    loaded: LoadedRun, trees: list[Tree], split: str, frames: Frames | None = None
) -> TreePicture:
    """Write trees for the viewer, in the run's colours; it may leave frames out.

    The origin is not among their notes: pages show it in words of their own.
    """
    drawn = [without_origin(tree, loaded.run.provenance) for tree in trees]
    payload = tree_payload(
        drawn,
        *loaded.rows(split),
        split=loaded.fitted_split if split == "fitted" else split,
        colors=run_colors(loaded) or None,
        frames=frames,
    )
    if frames is None:
        return TreePicture(_viewer_payload(payload, loaded.run), (trees[0],))
    places = tuple(payload["frames"]["places"])
    text = _viewer_payload(payload, loaded.run)
    kept = tuple(trees[i] for i in places)
    return TreePicture(text, kept, payload["frames"]["chosen"], places)


def tree_epoch(run: Run) -> float | None:
    """Return the epoch of a run's newest tree, None for its model's or no tree."""
    if run.has_model:
        return None
    try:
        return max(store().snapshots(run.id), default=None)
    except LookupError:  # deleted meanwhile
        return None


def has_tree(run: Run) -> bool:
    """Whether a run has a model, or a tree of some epoch."""
    return run.has_model or tree_epoch(run) is not None


def live_tree(run: Run) -> tuple[str, ViewerPayload | None]:
    """Return words for a run's tree, and its picture: of its model, or a snapshot."""
    if not has_tree(run):
        return "no tree saved" if run.is_finished else "no tree yet", None
    try:
        return _live_tree(run, tree_epoch(run))
    except LookupError:  # thinned out, or the run deleted, meanwhile
        return "its tree was deleted", None


@shared(128)
def _live_tree(run: Run, epoch: float | None) -> tuple[str, ViewerPayload]:
    """Write the tree as of an epoch, or the model's where ``epoch`` is None."""
    loaded = cached.load_whole(run)
    if loaded.epoch is not None:
        tree, words = shown_tree(loaded.model), cached.epoch_words(run, loaded.epoch)
    elif loaded.is_ensemble:
        index, weight = top_estimators(loaded)
        which = "all of equal weight" if are_equal(weight) else "the highest weight"
        words = f"tree {index[0]} of {loaded.model.n_estimators:,}, {which}"
        tree = run_tree(loaded, int(index[0]))
    else:
        tree = run_tree(loaded)
        words = counted(tree.n_leaves, "leaf", "leaves")
    return words, _picture(loaded, [tree], "fitted").payload
