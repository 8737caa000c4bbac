"""The size of a run's tree: the path that the slider moves along, and its scores."""

from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from pages.cached.predictions import heaviest_scores, top_estimators
from pages.cached.runs import LoadedRun
from pages.cached.store import store
from pages.cached.tree_pictures import (
    TreePicture,
    path_picture,
    pruning_steps,
    scored_path_of,
    step_differences,
    step_predictions,
    tree_picture,
)
from pages.widgets.curves import CLUSTER_LOSS, VARIANCE_UNIT
from pages.widgets.page import mode, show_figure
from pages.widgets.store_trouble import explained
from pages.widgets.tree_viewer import selection, show_tree
from pages.widgets.words import plain, split_words, with_unit
from treelab.data.split import SPLIT_NAMES
from treelab.evaluation.comparison import Disagreement, disagreement
from treelab.evaluation.ensembles import are_equal
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.paired_bootstrap import ScoreDifference
from treelab.evaluation.pruning import PruningSteps
from treelab.figures.ensembles import deciders_figure
from treelab.figures.pruning_path import MARGINS, place_of, pruning_figure
from treelab.figures.viewer.payload import RowPath, row_path, value_scale
from treelab.learners.registry import CLUSTERS
from treelab.runs.jobs.derived import save_pruned
from treelab.trees.pruning_path import PruningPath
from treelab.trees.words import counted, shortest, significant

# The tree where the slider stands: everything below the viewer speaks of it.


@dataclass(frozen=True)
class Size:
    """A run's path of trees, and where on it the visitor is.

    Attributes
    ----------
    run : LoadedRun
        With the tree that training retained.
    steps : PruningSteps
        Large to small.
    step : int
    tree_alone : bool
        Whether leaves predict, where a predictor lies on top of them.
    """

    run: LoadedRun
    steps: PruningSteps
    step: int
    tree_alone: bool = False

    @property
    def is_own(self) -> bool:
        """Whether this is the tree that training retained."""
        return self.step == self.steps.own and not self.tree_alone

    @property
    def shown(self) -> LoadedRun:
        """The run as if training had retained this tree."""
        if self.is_own:
            return self.run
        model = self.steps.trees[self.step]
        if isinstance(self.run.model, PruningPath) and not self.tree_alone:
            model = replace(self.run.model, chosen=self.step)
        run = replace(self.run.run, metrics=None)  # those of the retained tree
        variant = f"step {self.step}{', tree alone' * self.tree_alone}"
        return replace(self.run, run=run, model=model, variant=variant)

    def picture(self, split: str = "fitted") -> TreePicture:
        """Return the trees of the path, a frame each."""
        run = _alone(self.run) if self.tree_alone else self.run
        if len(self.steps.trees) < 2:
            return replace(
                tree_picture(run, self.steps.trees[0], "step 0", split), steps=(0,)
            )
        return path_picture(run, self.steps, split)


def size_of(loaded: LoadedRun, view: str, tree_alone: bool) -> Size:
    """Return where a run's slider stands, in the viewer of a key or in the address."""
    steps = pruning_steps(loaded, tree_alone)
    size = Size(loaded, steps, steps.own, tree_alone)
    run_id, known = loaded.run.id, f"size-{loaded.run.id}"
    frame = selection(view).frame
    if frame is not None:
        step = size.picture().steps[frame]
    elif known in st.session_state:
        step = st.session_state[known]
    else:
        of_this_run = st.session_state.get("size-run", run_id) == run_id
        named = st.query_params.get("size", "") if of_this_run else ""
        step = int(named) if named.isdecimal() else steps.own
    step = step if step < len(steps.trees) else steps.own
    st.session_state["size-run"], st.session_state[known] = run_id, step
    if step == steps.own:
        st.query_params.pop("size", None)
    elif st.query_params.get("size") != str(step):
        st.query_params["size"] = str(step)
    return replace(size, step=step)


def pick_predictor(loaded: LoadedRun) -> bool:
    """Let the visitor choose what predicts; True for the tree alone."""
    if not (loaded.has_predictor and loaded.has_labels):
        return False
    metric = TITLES[headline(loaded.run.problem.task)]
    words = {}
    for tree_alone, name in ((False, "Predictor on top"), (True, "Tree alone")):
        table = pruning_steps(loaded, tree_alone).table
        score = significant(table["test_score"].iloc[loaded.model.chosen])
        words[tree_alone] = f"{name} · {score}"
    return st.segmented_control(
        f"Prediction from · {metric} on {split_words(loaded, 'test')}",
        list(words),
        format_func=words.__getitem__,
        default=False,
        required=True,
        wrap=True,
        key=f"predictor-{loaded.run.id}",
        help="Scores at the strength that training chose. The predictor reads how far "
        "a row passes each node; alone, a leaf predicts the majority class, or the "
        "mean, of its training rows.",
    )


def _alone(loaded: LoadedRun) -> LoadedRun:
    """Return the run as if its trees predicted by their leaves alone."""
    path = loaded.model
    model = replace(path, predictors=(None,) * len(path))
    return replace(loaded, model=model, variant="tree alone")


# That tree as a run of its own.


def offer_run(size: Size) -> None:
    """Offer to save the tree as a run, which every page then shows."""
    loaded = size.run
    if loaded.epoch is not None or loaded.run.learner == CLUSTERS.key:
        return
    if len(size.steps.trees) < 2 and not size.tree_alone:
        return
    saved = st.session_state.pop(f"saved-of-{loaded.run.id}", None)
    st.button(
        "Keep this size",
        icon=":material/save:",
        key=f"use-{loaded.run.id}",
        disabled=size.is_own,
        help="This is the run's own tree."
        if size.is_own
        else "Saves this tree as a run of its own, to look at, export and compare.",
        on_click=explained(_save),
        args=(size,),
    )
    if saved is not None:
        run = store().run(saved)
        st.markdown(f"Saved as {plain(run.title)}.")
        with st.container(horizontal=True):
            address = {"run": run.id}
            st.page_link("pages/tree.py", label="See the tree", query_params=address)
            both = {"run": run.id, "against": loaded.run.id}
            st.page_link("pages/compare.py", label="Compare", query_params=both)


def _save(size: Size) -> None:
    """Save the tree, and remember the run for the line below the button."""
    loaded = size.run
    run_id = save_step(loaded, size.steps, size.step, tree_alone=size.tree_alone)
    st.session_state[f"saved-of-{loaded.run.id}"] = run_id


def save_step(
    loaded: LoadedRun, steps: PruningSteps, step: int, *, tree_alone: bool = False
) -> str:
    """Save the tree of a step as a run, unless it is one, and return the run's id."""
    model, path = steps.trees[step], None
    if isinstance(loaded.model, PruningPath) and not tree_alone:
        model = replace(loaded.model, chosen=step)
    elif steps.kind == "leaves":
        path = scored_path_of(loaded)
        path = replace(path, chosen=len(path) - 1 - step)
    return save_pruned(store(), loaded.run, model, path)


# The score of every tree of the path.


_KINDS = {
    "lambda": "Each λ trained a tree of its own: these are different trees, not "
    "prunings of one.",
    "leaves": "The best tree found at each number of leaves.",
    "alpha": "One tree, cut back more and more (cost-complexity pruning).",
}
_STRENGTHS = {
    "lambda": "pruning strength λ",
    "leaves": "number of leaves",
    "alpha": "number of leaves",
}


def show_curve(size: Size) -> None:
    """Draw score and size of the whole path; a line marks the tree that is shown."""
    loaded, steps = size.run, size.steps
    metric = _metric(loaded)
    strength, n_steps = _STRENGTHS[steps.kind], len(steps.trees)
    names = step_labels(steps)
    marked = "; ".join(f"{words}: {names[i]}" for i, words in steps.marks.items())
    path = st.container(key="path")
    place = size.step if steps.kind == "lambda" else n_steps - 1 - size.step
    path.html(_line_over(place, n_steps))  # first: it moves at once
    with path:
        show_figure(
            _path_figure(
                (*loaded.key, size.tree_alone),
                mode(),
                steps,
                strength,
                metric,
                _rows_behind(loaded),
            ),
            key="pruning-path",
            alt=f"{metric} and size of {counted(n_steps, 'tree')} against {strength}; "
            f"{marked}.",
        )
    line = "Line: the tree above"
    if steps.kind == "alpha":
        line += f", ccp_alpha {shortest(steps.table['strength'].iloc[size.step])}"
    st.caption(f"{line}. {_KINDS[steps.kind]} {_choice_note(size)}")


def step_labels(steps: PruningSteps) -> list[str]:
    """Name each step; no two names are alike."""
    leaves = [counted(int(n), "leaf", "leaves") for n in steps.table["leaves"]]
    if steps.kind != "lambda":  # no two are of one size
        return leaves
    return [f"λ {shortest(s)}, {n}" for s, n in zip(steps.table["strength"], leaves)]


def _metric(loaded: LoadedRun) -> str:
    """Name the score by which the trees of the path are compared."""
    if not loaded.has_labels:
        return "validation loss"
    return TITLES[headline(loaded.run.problem.task)]


def _rows_behind(loaded: LoadedRun) -> dict[str, int]:
    """Count the rows behind each score of the path."""
    return {
        "held_out_score": loaded.n_rows(_held_out(loaded)),
        "valid_score": len(loaded.split.y_valid),
        "test_score": len(loaded.split.y_test),
    }


def _held_out(loaded: LoadedRun) -> str:
    """Name the rows that scored the trees by size: all, in folds, or validation."""
    return "valid" if loaded.fitted_split == "train" else "fitted"


def _choice_note(size: Size) -> str:
    """Say which rows the scores are of, and what they are worth."""
    loaded, kind = size.run, size.steps.kind
    if not loaded.has_labels:
        return (
            f"{CLUSTER_LOSS} ({VARIANCE_UNIT}), on held-out rows; lower is better. No "
            "labels are known, so nothing here shows whether the clusters are right; "
            "with a label column, chosen on Train, their purity is measured."
        )
    if kind == "leaves":
        how = "the validation rows"
        if loaded.fitted_split != "train":
            how = "by cross-validation, each row by a tree that was not fitted to it"
        return (
            f"Held-out rows: {how}; no test row is among them. Bars: one standard "
            "error."
        )
    words = "Validation rows chose λ." if kind == "lambda" else ""
    if loaded.fitted_split != "train":
        words += (
            " This tree was fitted to the validation rows as well, so its validation "
            "score is too high; the test score is not."
        )
    return words.strip()


@st.cache_resource(show_spinner=False, max_entries=16)
def _path_figure(key, mode, _steps: PruningSteps, strength, score, n_rows):
    """Draw a run's path once, as the slider runs; that only moves the line over it."""
    table, marks = _steps.table, _steps.marks
    if _steps.kind != "lambda":
        table = table.assign(strength=table["leaves"])[::-1].reset_index(drop=True)
        marks = {len(table) - 1 - step: words for step, words in marks.items()}
    return pruning_figure(
        table,
        marks=marks,
        strength_title=strength,
        score_title=score,
        n_rows=n_rows,
        mode=mode,
    )


def _line_over(step: int, n_steps: int) -> str:
    """Return HTML of the line that marks a step in the path's figure."""
    left, right = MARGINS["l"], MARGINS["r"]
    return (
        f'<div class="line" style="left:calc({left}px + '
        f"{place_of(step, n_steps):.5f} * (100% - {left + right}px));"
        f'top:{MARGINS["t"]}px;bottom:{MARGINS["b"]}px"></div>'
    )


# Two sizes of one path beside each other, and the rows that change between them.


MOST_ROWS = 200  # that are listed
_HEIGHT = 420  # pixels of a tree
Names = tuple[str, str]


def show_pair(size: Size) -> None:
    """Draw two trees of a path, with their scores and the rows that change."""
    steps, tree_alone = size.steps, size.tree_alone
    loaded = _alone(size.run) if tree_alone else size.run
    labels = step_labels(steps)
    other = size.step if size.step != steps.own else len(labels) // 2
    first, second = st.select_slider(
        "Two sizes",
        range(len(labels)),
        value=tuple(sorted((steps.own, other if other != steps.own else 0))),
        format_func=labels.__getitem__,
        key=f"pair-{loaded.run.id}",
        help="Move both ends: the trees on the left and on the right.",
    )
    if first == second:
        st.info("Move one end to compare two sizes.", icon=":material/info:")
        return
    names = _names(steps, labels, first, second)
    found = None
    if loaded.has_labels:
        found = _changes(loaded, steps, (first, second), tree_alone)
        task = loaded.run.problem.task
        best = step_differences(loaded, steps, first, second, tree_alone)[
            headline(task)
        ]
        st.header(plain(_finding(loaded, found, best, names)), anchor=False)
        st.markdown(plain(_interval_words(best, names)))
    else:
        losses = [steps.table["valid_loss"].iloc[step] for step in (first, second)]
        words = (f"{n} {significant(loss)}" for n, loss in zip(names, losses))
        st.header(plain(f"{', '.join(words)} validation loss"), anchor=False)
    place = None if found is None else _pick_row(loaded, found)
    _show_trees(loaded, steps, (first, second), names, place)
    if found is not None:
        _show_rows(loaded, found, names)


def _names(steps: PruningSteps, labels: list[str], first: int, second: int) -> Names:
    """Name both trees by their leaves, or by more where these are as many."""
    leaves = steps.table["leaves"]
    if leaves.iloc[first] == leaves.iloc[second]:
        return labels[first], labels[second]
    one, other = (
        counted(int(leaves.iloc[step]), "leaf", "leaves") for step in (first, second)
    )
    return one, other


def _changes(
    loaded: LoadedRun, steps: PruningSteps, pair: tuple[int, int], tree_alone: bool
) -> Disagreement:
    """Find the test rows that both trees predict differently."""
    return disagreement(
        loaded.run.problem.task,
        loaded.split.y_test,
        *(step_predictions(loaded, steps, step, tree_alone) for step in pair),
        loaded.split.rows("test").weight,
    )


def _finding(
    loaded: LoadedRun, found: Disagreement, best: ScoreDifference, names: Names
) -> str:
    """Write both scores and how many rows change."""
    scores = (
        f"{names[0]} {significant(best.first)}, {names[1]} {significant(best.second)} "
        f"{best.title}"
    )
    n_rows = counted(found.n_rows, "test row")
    if found.mean_distance is None:
        verb = "changes its" if len(found.rows) == 1 else "change their"
        return f"{scores}: {len(found.rows):,} of {n_rows} {verb} class"
    distance = with_unit(loaded, found.mean_distance)
    return f"{scores}: predictions differ by {distance} on average, {n_rows}"


def _interval_words(best: ScoreDifference, names: Names) -> str:
    """Write whether one tree is better by more than chance."""
    low, high = significant(best.low), significant(best.high)
    interval = (
        f"{best.level:.0%} interval of {names[1]} less {names[0]}: {low} to {high}, "
        f"{best.n_rows:,} test rows"
    )
    if best.winner is None:
        return f"No clear difference in {best.title} ({interval})."
    return f"The tree of {names[best.winner]} scores better ({interval})."


def _pick_row(loaded: LoadedRun, found: Disagreement) -> int | None:
    """Let the visitor choose a row that changes; its place among the test rows."""
    places = found.rows["position"].tolist()[:MOST_ROWS]
    if not places:
        return None
    return st.selectbox(
        "Follow a row whose prediction changes",
        places,
        index=None,
        format_func=lambda place: f"test row {place + 1:,}",
        placeholder="none",
        key=f"pair-row-{loaded.run.id}",
        width=320,
    )


def _show_trees(
    loaded: LoadedRun,
    steps: PruningSteps,
    pair: tuple[int, int],
    names: Names,
    place: int | None,
) -> None:
    """Draw both trees on one scale, with the path of a test row."""
    trees = [steps.trees[step] for step in pair]
    scale = value_scale(trees)
    who = ", predictor on top" if loaded.has_predictor else ""
    for column, step, tree, name in zip(st.columns(2, gap="large"), pair, trees, names):
        paths: list[RowPath] = []
        if place is not None:
            row = loaded.split.X_test.iloc[[place]]
            paths = [row_path(tree, row, f"test row {place + 1:,}")]
        with column:
            st.subheader(plain(f"{name}, depth {tree.depth}"), anchor=False)
            show_tree(
                loaded,
                tree,
                f"pair-{'left' if step == pair[0] else 'right'}",
                f"step {step}{who}",
                paths=paths,
                scale=scale,
                height=_HEIGHT,
            )


def _show_rows(loaded: LoadedRun, found: Disagreement, names: Names) -> None:
    """List the rows that change, and which tree is right or closer on each."""
    if found.rows.empty:
        st.markdown("Both predict the same on every test row.")
        return
    is_class = found.mean_distance is None
    better = "correct" if is_class else "closer to the target"
    of_rows = counted(len(found.rows), "row")
    st.markdown(
        plain(
            f"Of these {of_rows} the tree of {names[0]} is {better} on "
            f"{found.first_better:,}, that of {names[1]} on {found.second_better:,}."
        )
    )
    rows = found.rows[:MOST_ROWS]
    facts = pd.DataFrame(
        {
            "test row": rows["position"] + 1,
            "target": rows["truth"],
            names[0]: rows["first"],
            names[1]: rows["second"],
            better.split()[0]: [(*names, "neither")[which] for which in rows["better"]],
        }
    )
    if is_class:
        facts = facts.astype(dict.fromkeys(("target", *names), str))
    X = loaded.split.X_test.iloc[rows["position"]].reset_index(drop=True)
    X = X.rename(columns={name: f"{name} " for name in X if name in facts})
    st.dataframe(
        pd.concat([facts.reset_index(drop=True), X], axis=1),
        hide_index=True,
        key="rows-that-change",
        placeholder="–",
        column_config={"test row": st.column_config.NumberColumn(pinned=True)},
    )
    if len(found.rows) > MOST_ROWS:
        which = "first" if is_class else "largest differences"
        st.caption(f"The {which} {MOST_ROWS} of {len(found.rows):,}.")


# How many trees of an ensemble may decide, and what fewer cost.


CLOSE = 0.01  # a score that is at most so much lower is as good


@st.fragment
def show_dial(loaded: LoadedRun) -> None:
    """Let the visitor say how many trees may decide, and show what that costs."""
    if are_equal(top_estimators(loaded)[1]):
        st.info(
            f"All {counted(loaded.model.n_estimators, 'tree')} have the same weight, "
            "so none decides more than another.",
            icon=":material/info:",
        )
        return
    counts, scores = heaviest_scores(loaded)
    metric = TITLES[headline(loaded.run.problem.task)]
    chosen_by = "valid" if "valid" in scores else "test"
    judged, tested = scores[chosen_by], scores["test"]
    enough = int((judged >= judged[-1] - CLOSE).argmax())
    shown = st.select_slider(
        "How many trees may decide",
        range(len(counts)),
        value=enough,
        format_func=lambda at: _count_words(counts, at),
        key=f"deciders-{loaded.run.id}",
        help="Each row is predicted by its trees of highest weight alone, their "
        "weights scaled up to 1. Nothing is trained anew.",
    )
    alone = _count_words(counts, shown)
    st.header(
        f"{significant(tested[shown])} {metric} with {alone}; "
        f"{significant(tested[-1])} with all {counts[-1]:,}",
        anchor=False,
    )
    st.caption(
        f"Scores: {split_words(loaded, 'test')}. The fewest trees within {CLOSE} of "
        f"all of them on {SPLIT_NAMES[chosen_by]} rows: {counts[enough]:,}. Which "
        "trees they are differs by row."
    )
    show_figure(
        deciders_figure(
            counts,
            {
                split_words(loaded, split): of_split
                for split, of_split in scores.items()
            },
            shown=shown,
            score_title=metric,
            mode=mode(),
        ),
        key="deciders",
        alt=f"{metric} against the number of trees that decide.",
    )


def _count_words(counts: tuple[int, ...], at: int) -> str:
    """Name a number of trees; the last one is all."""
    return "all" if at == len(counts) - 1 else counted(counts[at], "tree")
