"""One or two more runs beside the pair: their scores, sizes and trees."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, load_readable
from pages.common.cached.predictions import score_differences
from pages.common.cached.store import finished_runs
from pages.common.state.chosen_run import new_in_address, write_address
from pages.common.views.compare.comparison import Names, Pair, show_side
from pages.common.widgets.run_picker import run_labels
from pages.common.words import plain, run_name
from treelab.evaluation.comparison import have_same_test_rows
from treelab.evaluation.metrics import TITLES, headline
from treelab.trees.words import significant

MOST_OTHERS = 2
KEY = "others"
SIZES = ("leaves", "splits", "depth")


def pick_others(pair: Pair) -> list[LoadedRun]:
    """Let the visitor choose up to two more runs with the same test rows."""
    taken = {loaded.run.id for loaded in pair}
    problem = pair[0].run.problem
    offered = {
        run.id: run
        for run in finished_runs()
        if run.id not in taken and have_same_test_rows(run.problem, problem)
    }
    if not offered:
        return []
    named = (new_in_address(KEY) or "").split(",")
    wanted = [i for i in named if i in offered] or st.session_state.get(KEY, [])
    st.session_state[KEY] = [i for i in wanted if i in offered][:MOST_OTHERS]
    labels = run_labels([*offered.values()])
    chosen = st.multiselect(
        "More runs beside them",
        list(offered),
        format_func=labels.__getitem__,
        max_selections=MOST_OTHERS,
        key=KEY,
        persist_state="session",
        placeholder="none",
        help="Up to two more, tested on the same rows.",
    )
    write_address(KEY, ",".join(chosen))
    return load_readable([offered[i] for i in chosen])


def other_names(others: Sequence[LoadedRun], taken: Names) -> list[str]:
    """Name runs so that no two on the page are alike."""
    names: list[str] = []
    for loaded in others:
        name, number = run_name(loaded.run), 2
        while name in (*taken, *names):
            name, number = f"{run_name(loaded.run)} ({number})", number + 1
        names.append(name)
    return names


def show_others(pair: Pair, names: Names, others: Sequence[LoadedRun]) -> None:
    """Show what each of them scores beside both of the pair, as a table."""
    metric = headline(pair[0].run.problem.task)
    rows = {}
    for loaded, name in zip(others, other_names(others, names)):
        found = [score_differences(own, loaded)[metric] for own in pair]
        summary = loaded.run.summary
        rows[name] = (
            significant(found[0].second),
            *(
                f"{significant(each.estimate)} "
                f"({significant(each.low)} to {significant(each.high)})"
                for each in found
            ),
            *(f"{summary[key]:,}" if key in summary else "" for key in SIZES),
        )
    columns = [
        f"{TITLES[metric]}, test",
        *(f"minus {plain(name)} (95% interval)" for name in names),
        *SIZES,
    ]
    st.table(pd.DataFrame.from_dict(rows, orient="index", columns=columns))


def show_other_trees(
    others: Sequence[LoadedRun], names: Names, place: int | None, scale: dict | None
) -> None:
    """Draw their trees beside each other, and a test row's path."""
    if not others:
        return
    for column, loaded, name, key in zip(
        st.columns(2, gap="large"),
        others,
        other_names(others, names),
        ("third", "fourth"),
    ):
        with column:
            show_side(loaded, name, key, place, scale)
