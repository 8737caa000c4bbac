"""Compare: pick two runs of one problem, draw both, say which is better and where."""

import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.predictions import (
    predictions,
    split_scores,
    test_differences,
    top_estimators,
)
from pages.common.cached.store import find_run, finished_runs
from pages.common.cached.trees import drawn_tree, routed_tree
from pages.common.theme import dot, mode, page_title, show_figure
from pages.common.views.parts import part_words, pick_view
from pages.common.views.tree_picture import show_tree
from pages.common.widgets.run_picker import last_choice
from pages.common.words import duration, plain, run_name
from treelab.evaluation.disagreement import disagreement
from treelab.evaluation.estimator_weights import are_equal
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.paired_bootstrap import ScoreDifference
from treelab.evaluation.same_test_rows import have_same_test_rows
from treelab.figures.compare import difference_figure
from treelab.figures.style.colors import learner_color
from treelab.figures.viewer.rows import row_path
from treelab.runs.store.run import Run
from treelab.trees.text.numerals import counted, significant

MOST_ROWS = 200  # rows of a number target that are listed
ON_ONE_SCALE = ("macro_f1", "accuracy", "r2")  # scores that one figure can hold


def has_partner(run: Run) -> bool:
    """Whether another finished run can be compared with this one."""
    return any(
        have_same_test_rows(run.problem, other.problem)
        for other in finished_runs()
        if other.id != run.id
    )


def greedy_default(runs: list[Run]) -> Run:
    """The newest CART beside what the visitor looked at last, else beside anything."""
    looked_at = find_run(last_choice())
    greedy = [run for run in runs if run.learner == "cart"]
    beside = [
        run
        for run in greedy
        if looked_at and have_same_test_rows(run.problem, looked_at.problem)
    ]
    against_gradients = [
        run
        for run in greedy
        if any(
            have_same_test_rows(run.problem, other.problem) and other.learner != "cart"
            for other in runs
        )
    ]
    return (beside or against_gradients or greedy or runs)[0]


def gradient_default(runs: list[Run]) -> Run:
    """What the visitor looked at last, else the newest run trained by gradients."""
    looked_at = [run for run in runs if run.id == last_choice()]
    trained = [run for run in runs if run.learner != "cart"]
    return (looked_at or trained or runs)[0]


def finding(gain: ScoreDifference, names: tuple[str, str]) -> str:
    """Say which run is better by the headline score."""
    first, second = names
    if gain.winner is None:
        return f"No clear difference between {second} and {first}"
    better, other = (second, first) if gain.winner else (first, second)
    return f"{better} gains {significant(abs(gain.estimate))} over {other}"


def interval_words(gain: ScoreDifference, names: tuple[str, str]) -> str:
    """Say both scores, the interval of their difference, and the rows behind them."""
    low, high = gain.low, gain.high
    if gain.winner == 0:  # told from the better one's side
        low, high = -high, -low
    return (
        f"{gain.title}: {plain(names[0])} {significant(gain.first)}, {plain(names[1])} "
        f"{significant(gain.second)} on the same {gain.n_rows:,} test rows; "
        f"{gain.level:.0%} interval of the difference {significant(low)} to "
        f"{significant(high)}."
    )


def show_side(loaded: LoadedRun, name: str, key: str, place: int | None) -> None:
    """Draw one run's tree, or the heaviest of its trees, and the way of a test row."""
    color = learner_color(loaded.run.learner, loaded.run.settings)
    st.html(f'<span class="chip">{dot(color, name)}</span>', width="content")
    estimator = None
    if loaded.is_ensemble:
        index, weight = top_estimators(loaded)
        estimator, total = int(index[0]), f"{loaded.model.n_estimators:,}"
        if are_equal(weight):
            rank = f" of {total}; all have the same say and answer together."
        else:
            rank = (
                f", the heaviest of {total} on the test rows; all of them answer "
                "together."
            )
        st.caption(f"Tree {estimator}{rank}")
    if place is None:
        show_tree(loaded, drawn_tree(loaded, estimator), key, f"drawn {estimator}")
        return
    tree = routed_tree(loaded, estimator)
    row = row_path(tree, loaded.split.X_test.iloc[[place]], f"test row {place + 1:,}")
    show_tree(loaded, tree, key, f"routed {estimator}", paths=[row])


def row_to_follow(n_rows: int) -> int | None:
    """Let the visitor choose a test row; return its place, from 0."""
    row = st.number_input(
        f"Follow a test row through both, 1 to {n_rows:,}",
        1,
        n_rows,
        value=None,
        step=1,
        key="compare-row",
        placeholder="none",
        width=300,
        help="Ticking a row below, where the two differ, offers to follow it here.",
    )
    return None if row is None else row - 1


def size_of(loaded: LoadedRun) -> dict[str, int]:
    """Leaves, depth and number of the trees that a run predictions with."""
    if loaded.is_ensemble:
        model = loaded.model
        leaves = model.n_estimators * model.n_leaves
        return {"leaves": leaves, "depth": model.depth, "trees": model.n_estimators}
    tree = drawn_tree(loaded)
    return {"leaves": tree.n_leaves, "depth": tree.depth, "trees": 1}


def score_table(
    views: tuple[LoadedRun, LoadedRun],
    names: tuple[str, str],
    gains: dict[str, ScoreDifference],
) -> pd.DataFrame:
    """Scores on the test rows and sizes of both runs, as text."""
    rows = {}
    found = [split_scores(loaded, "test") for loaded in views]
    for metric, title in TITLES.items():
        if metric not in found[0]:
            continue
        gain = gains.get(metric)
        rows[f"{title}, test"] = (
            *(significant(each[metric]) for each in found),
            significant(found[1][metric] - found[0][metric]),
            f"{significant(gain.low)} to {significant(gain.high)}" if gain else "",
        )
    for name, key in (
        ("leaves", "leaves"),
        ("depth", "depth"),
        ("trees", "estimators"),
    ):
        values = [loaded.run.summary.get(key) for loaded in views]
        if any(value is not None for value in values):
            rows[name] = (*(f"{v:,}" if v is not None else "1" for v in values), "", "")
    seconds = [loaded.run.summary.get("seconds") for loaded in views]
    rows["training time"] = (*(duration(s) for s in seconds), "", "")
    columns = [*names, f"{names[1]} minus {names[0]}", "95% interval"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def where_they_differ(
    views: tuple[LoadedRun, LoadedRun], names: tuple[str, str]
) -> None:
    """List the test rows that the two runs answer differently."""
    X, y = views[0].split.rows("test")
    task = views[0].run.problem.task
    found = disagreement(task, y, *(predictions(loaded, "test") for loaded in views))
    if found.rows.empty:
        st.markdown(f"Both say the same on all {counted(len(y), 'test row')}.")
        return
    first, second = map(plain, names)
    if found.mean_distance is None:
        st.markdown(
            f"They differ on {len(found.rows):,} of {counted(len(y), 'test row')}: "
            f"{first} is right on {found.first_better:,}, {second} on "
            f"{found.second_better:,}, neither on {found.neither:,}."
        )
    else:
        unit = f" {plain(views[0].model.target_unit)}".rstrip()
        st.markdown(
            f"{second} is closer to the truth on {found.second_better:,} of "
            f"{counted(len(y), 'test row')}, {first} on {found.first_better:,}. The "
            f"predictions lie {significant(found.mean_distance)}{unit} apart on "
            "average; the furthest apart come first."
        )
    rows = found.rows[:MOST_ROWS]
    facts = pd.DataFrame(
        {
            "test row": rows["position"] + 1,
            "truth": rows["truth"],
            names[0]: rows["first"],
            names[1]: rows["second"],
            "right" if found.mean_distance is None else "closer": [
                (*names, "neither")[which] for which in rows["better"]
            ],
        }
    )
    if found.mean_distance is None:
        facts = facts.astype(dict.fromkeys(("truth", *names), str))
    show_rows(facts, X.iloc[rows["position"]], views, names)


def show_rows(facts: pd.DataFrame, X: pd.DataFrame, views, names) -> None:
    """Show what is known of some rows, then their columns; open the chosen one."""
    X = X.rename(columns={name: f"{name} " for name in X if name in facts})
    chosen = st.dataframe(
        pd.concat([facts, X.reset_index(drop=True)], axis=1),
        hide_index=True,
        key="rows-that-differ",
        on_select="rerun",
        selection_mode="single-row",
        column_config={"test row": st.column_config.NumberColumn(pinned=True)},
    ).selection.rows
    if not chosen or chosen[0] >= len(facts):
        st.caption("Tick a row to open it on the Explain page.")
        return
    row = int(facts["test row"].iloc[chosen[0]])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Follow it above",
            icon=":material/route:",
            on_click=st.session_state.__setitem__,
            args=("compare-row", row),
        )
        for loaded, name in zip(views, names):
            st.page_link(
                "pages/explain.py",
                label=f"Why does {plain(name)} say so for row {row:,}?",
                icon=":material/help:",
                query_params={"run": loaded.run.id, "row": str(row)},
            )


page_title(
    "Is it better than greedy, and where?",
    "Two trees side by side, scored on the same test rows. Only runs of the same "
    "table, target and seed can be compared: others were tested on other rows.",
)
left, right = st.columns(2, gap="large")
with left:
    first = pick_view(
        key="first",
        label="First run",
        where=has_partner,
        default=greedy_default,
        growing=False,
        empty="Comparing takes two finished runs of the same table, target and seed. "
        "Train a second learner on the same problem.",
    )
with right:
    second = pick_view(
        key="second",
        label="Second run",
        where=lambda run: (
            run.id != first.run.id
            and have_same_test_rows(run.problem, first.run.problem)
        ),
        default=gradient_default,
        growing=False,
    )
views = (first, second)
names = tuple(run_name(loaded.run) for loaded in views)
if names[0] == names[1] or set(names) & {"test row", "truth", "right", "closer"}:
    names = (f"{names[0]} (first)", f"{names[1]} (second)")

gains = test_differences(first, second)
task = first.run.problem.task
st.header(plain(finding(gains[headline(task)], names)), anchor=False)
st.markdown(interval_words(gains[headline(task)], names))
on_scale = [gain for metric, gain in gains.items() if metric in ON_ONE_SCALE]
show_figure(
    difference_figure(
        pd.DataFrame(
            {
                "title": [gain.title for gain in on_scale],
                "estimate": [gain.estimate for gain in on_scale],
                "low": [gain.low for gain in on_scale],
                "high": [gain.high for gain in on_scale],
            }
        ),
        *names,
        colors=tuple(learner_color(v.run.learner, v.run.settings) for v in views),
        mode=mode(),
    ),
    key="difference",
    alt=f"{finding(gains[headline(task)], names)}.",
)
st.caption(
    f"Point: the difference on {part_words(first, 'test')}. Bar: its 95% interval, "
    "from drawing these rows anew 2,000 times (paired bootstrap); hollow and grey "
    "where it holds zero."
)

place = row_to_follow(len(first.split.y_test))
left, right = st.columns(2, gap="large")
with left:
    show_side(first, names[0], "first", place)
with right:
    show_side(second, names[1], "second", place)

st.header("Scores and sizes", anchor=False)
st.table(score_table(views, names, gains))
if set(first.run.problem.columns) != set(second.run.problem.columns):
    st.caption("The two runs read different columns of the table.")

st.header("Where they differ", anchor=False)
where_they_differ(views, names)
