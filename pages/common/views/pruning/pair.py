"""Two sizes of one path beside each other, and the rows that change between them."""

import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.pruning_steps import step_differences, step_predictions
from pages.common.views.tree_viewer import show_tree
from pages.common.widgets.pruning_slider import strength_name
from pages.common.words import plain, with_unit
from treelab.evaluation.comparison import Disagreement, disagreement
from treelab.evaluation.frontier import knee_of
from treelab.evaluation.metrics import headline
from treelab.evaluation.paired_bootstrap import ScoreDifference
from treelab.evaluation.pruning import PruningSteps
from treelab.figures.viewer.payload import RowPath, row_path, value_scale
from treelab.trees.words import counted, significant

MOST_ROWS = 200  # that are listed
_HEIGHT = 420  # pixels of a tree
Names = tuple[str, str]


def show_pair(
    loaded: LoadedRun, steps: PruningSteps, labels: list[str], tree_alone: bool
) -> None:
    """Draw two trees of a path, with their scores and the rows that change.

    Parameters
    ----------
    loaded : LoadedRun
        As it is shown: without its predictors where ``tree_alone``.
    steps : PruningSteps
    labels : list of str
        Names of the steps; no two are alike.
    tree_alone : bool
        As ``pruning_steps`` takes it.
    """
    first, second = st.select_slider(
        f"Two sizes · {strength_name(steps).lower()}",
        range(len(labels)),
        value=_first_pair(steps),
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


def _first_pair(steps: PruningSteps) -> tuple[int, int]:
    """Return the largest tree and the chosen one; if that is it, one half as far."""
    chosen = knee_of(steps.table) if steps.chosen is None else steps.chosen
    return 0, chosen or max(1, len(steps.trees) // 2)


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
