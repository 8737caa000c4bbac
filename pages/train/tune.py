"""The tab Tune: a sweep over a learner's settings, its form and its trials."""

import pandas as pd
import streamlit as st
from streamlit import column_config as config

from pages.cached.store import find_run, place_in_queue, queue, store
from pages.state.choices import write_address
from pages.widgets.page import mode, page_link, pick_one, show_figure
from pages.widgets.watcher import Watcher
from pages.widgets.words import explained, plain
from treelab.data.problem import Problem
from treelab.evaluation.metrics import TITLES
from treelab.figures.explanations import importance_figure
from treelab.figures.sweeps import history_figure, parallel_figure, size_figure
from treelab.learners.common.settings import LearnerSpec, Preset
from treelab.learners.registry import LEARNERS
from treelab.learners.setting_text import parse_tried
from treelab.runs import sweeps
from treelab.runs.jobs.sweep import create_sweep, create_trial_run
from treelab.runs.run_words import distinct, duration, score
from treelab.runs.store.run import Run
from treelab.trees.words import counted

ADDRESS = "sweep"  # name of the chosen sweep in the address


def tune(problem: Problem) -> None:
    """Start a sweep, and show one of the table's."""
    learner, fixed, plan = sweep_form(problem)
    if st.button(
        "Start the sweep",
        type="primary",
        icon=":material/play_arrow:",
        disabled=plan is None,
        key="sweep-start",
        help="Trials run when no other run waits, on all idle workers.",
    ):
        started = create_sweep(store(), learner, fixed, problem, plan)
        queue().submit(started)
        st.session_state["chosen-sweep"] = started
        st.rerun()
    about = problem.table_id, problem.target
    known = {
        run.id: (run, plan)
        for run in store().runs()
        if (run.problem.table_id, run.problem.target) == about
        and (plan := store().plan(run.id, "sweep")) is not None
    }
    if not known:
        st.info(
            "No sweep on this table yet. It tries settings of a learner, and trains a "
            "run with those that score best.",
            icon=":material/info:",
        )
        return
    if st.session_state.get("chosen-sweep") not in known:
        st.session_state["chosen-sweep"] = next(iter(known))
    titles = distinct({run.id: run.title for run, _ in known.values()})
    chosen = st.selectbox("Sweep", titles, format_func=titles.get, key="chosen-sweep")
    write_address(ADDRESS, chosen)
    run, plan = known[chosen]
    show_sweep(run, sweeps.SweepPlan.from_json(plan))


SCORING_WORDS = {
    "own": "its own cross-validation",
    "folds": "folds",
    "validation": "validation rows",
}
MOST_TRIALS = 1000


def sweep_form(problem: Problem) -> tuple[str, dict, sweeps.SweepPlan | None]:
    """Ask for a sweep; return learner, fixed settings and plan, None if refused."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        learner = st.selectbox(
            "Learner",
            list(LEARNERS),
            index=list(LEARNERS).index("gradtree"),
            format_func=lambda key: LEARNERS[key].title,
            key="sweep-learner",
            persist_state="session",
            width=200,
        )
        known = sweeps.presets(learner)
        name = pick_one(
            "Preset",
            {key: "paper's" if key == "paper" else key for key in known},
            key=f"sweep-preset-{learner}",
            default="treelab",
            help="Fills the search space, which can be changed below.",
        )
        preset = known[name].of_task(LEARNERS[learner], problem.task)
        scorings = (
            sweeps.SCORINGS if LEARNERS[learner].scores_itself else sweeps.SCORINGS[1:]
        )
        scoring = st.selectbox(
            "Scored by",
            scorings,
            index=scorings.index(preset.scoring),
            format_func=SCORING_WORDS.get,
            key=f"sweep-scoring-{learner}-{name}",
            help="Its own cross-validation: one fit a trial. Folds: three, but "
            "hopeless trials end after the first.",
            width=220,
        )
        n_trials = st.number_input(
            "Trials", 1, MOST_TRIALS, 30, key="sweep-trials", width=130
        )
    weighted = f" Rows are weighted by {problem.weighting}." * bool(problem.weighting)
    st.caption(plain(f"{preset.source}{weighted}"))
    try:
        key = f"{learner}-{name}"
        space = _space_table(LEARNERS[learner], problem.task, preset, key)
        plan = sweeps.SweepPlan(space, int(n_trials), scoring=scoring)
        plan.check(learner, problem.task)
        return learner, dict(preset.fixed), plan
    except ValueError as error:
        st.error(plain(error), icon=":material/error:")
        return learner, dict(preset.fixed), None


def _space_table(spec: LearnerSpec, task: str, preset: Preset, key: str) -> dict:
    """Show the search space as a table to change; a ValueError says what is wrong."""
    settings = {setting.name: setting for setting in spec.settings_of(task)}
    table = [
        {"setting": name, "what is tried": str(tried), "help": settings[name].help}
        for name, tried in preset.space.items()
    ]
    words = (
        "A range such as 2..8; with :log, factors are tried evenly (0.01..0.3:log); or "
        "a list such as 4,8,16 or focal,poly."
    )
    with st.expander("Search space", icon=":material/tune:", key="sweep-space"):
        edited = st.data_editor(
            pd.DataFrame(table),
            num_rows="dynamic",
            hide_index=True,
            key=f"sweep-space-{key}",
            column_config={
                "setting": config.SelectboxColumn(
                    "Setting", options=sorted(settings), required=True
                ),
                "what is tried": config.TextColumn("Values", help=words, required=True),
                "help": config.TextColumn("What it does", disabled=True),
            },
        )
        st.caption(f"{words} Delete a row to leave a setting at its default.")
    tried = edited[["setting", "what is tried"]].dropna()
    if twice := [*tried["setting"][tried["setting"].duplicated()]]:
        raise ValueError(f"The search space names {twice[0]} twice: delete a row.")
    return {
        name: parse_tried(settings[name], text)
        for name, text in tried.itertuples(index=False)
    }


MIN_TRIALS = 4  # of which the settings' importance is estimated


def show_sweep(run: Run, plan: sweeps.SweepPlan) -> None:
    """Show a sweep, while it goes on and afterwards."""

    def now() -> Run:
        return find_run(run.id) or run

    watcher = Watcher(
        "sweep",
        None if run.is_finished else 2.0,
        is_over=lambda: now().is_finished != run.is_finished or not find_run(run.id),
    )
    with st.container(key="sweep-live"):
        watcher.part(
            "state",
            lambda: (_state(own := now()), own.stop_requested, own.epoch, _length(own)),
            lambda: _show_state(now(), plan, _found(run)[0]),
        )
        watcher.part("trials", lambda: _length(run), lambda: _show(now(), plan))
        watcher.start()


def _show(run: Run, plan: sweeps.SweepPlan) -> None:
    """Draw a sweep's trials as they are now."""
    trials, importance, clear = _found(run)
    done = trials[trials["state"] == "done"]
    if done.empty:
        return
    title = sweeps.trial_title(run)
    left, right = st.columns(2, gap="medium")
    with left:
        show_figure(history_figure(trials, title, mode=mode()), "sweep-history")
        st.caption(f"Each point is a trial, the line the highest {title} so far.")
    with right:
        show_figure(size_figure(trials, title, mode=mode()), "sweep-size")
        st.caption("The line joins the best trials for their number of leaves.")
    known = LEARNERS[run.learner].settings
    names = {own.name: own.label or own.name.replace("_", " ") for own in known}
    labels = {name: names[name] for name in plan.space if name in names}
    if len(done) >= MIN_TRIALS and len(labels) > 1:
        show_figure(
            parallel_figure(trials, labels, title, mode=mode()), "sweep-parallel"
        )
        st.caption(
            f"Each line is a trial, from its settings to its {title}; drag along an "
            "axis to see some of them."
        )
    if importance:
        bars = [labels.get(name, name) for name in importance], [*importance.values()]
        what = f"share of the differences in {title}"
        figure = importance_figure(*bars, title=what, mode=mode())
        show_figure(figure, "sweep-importance")
        found = ", ".join(labels.get(name, name) for name in clear)
        st.caption(
            "How much of the differences between trials each setting makes, estimated "
            "by Optuna: of few trials, or where no setting matters, mostly chance. "
            f"Scores differ by more than chance with: {plain(found) or 'none'}."
        )
    _show_table(run, trials, labels, title)


def _show_state(run: Run, plan: sweeps.SweepPlan, trials: pd.DataFrame) -> None:
    """Say how far the sweep is and what it found; show how to stop it."""
    ended = int(trials["state"].isin(sweeps.ENDED).sum())
    best = trials.loc[trials["state"] == "done", "score"].max()
    words = f"**{ended} of {counted(plan.n_trials, 'trial')}**"
    if best == best:
        words += (
            f", highest {sweeps.trial_title(run)} {best:.3f} over the rows held out"
        )
        words += sweeps.too_high(int((trials["state"] == "done").sum()))
    if run.state == "failed":
        st.error(plain(run.error), icon=":material/error:")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown(words, width="content")
        if not run.is_finished:
            st.caption(plain(_state(run)), width="content")
            st.button(
                "Stop and train with the best",
                icon=":material/stop:",
                key="sweep-stop",
                on_click=explained(store().request_stop, run.id),
                disabled=run.stop_requested or not store().may_change(run),
            )
        elif run.has_model:
            if (scored := score(run)) is not None:
                metric = TITLES[run.headline]
                st.caption(f"Trained with the best: test {metric} {scored:.3f}")
            page_link("tree", "See the tree", run=run.id)
            page_link("compare", "Compare", run=run.id)
    if not run.is_finished:
        st.progress(run.progress)


def _state(run: Run) -> str:
    """Say how a sweep is: its stage, how long it may take, where it is."""
    left = f", about {duration(run.remaining)} left" if run.remaining else ""
    waits = place_in_queue(run.id)
    state = f"in the queue, place {waits}" if waits else run.stage or run.state
    where = f", on {run.machine}" if run.machine else ""
    return f"{state}{left}{where}"


def _show_table(run: Run, trials: pd.DataFrame, labels: dict, title: str) -> None:
    """List the trials; a ticked one becomes a run."""
    ranked = trials.sort_values("score", ascending=False, na_position="last")
    measured = {"n_leaves": "leaves", "tree_depth": "depth", "seconds": "seconds"}
    known = [n for n in measured if n in ranked and ranked[n].notna().any()]
    settings = [name for name in labels if name in ranked]
    shown = ranked[["trial", "state", "score", *known, *settings]].copy()
    mixed = [name for name in settings if shown[name].dtype == object]
    shown = shown.astype(dict.fromkeys(mixed, "string"))
    event = st.dataframe(
        shown,
        hide_index=True,
        selection_mode="single-row",
        on_select="rerun",
        key=f"sweep-table-{run.id}-{hash(tuple(ranked['trial']))}",
        height=min(38 * (len(shown) + 1), 420),
        column_config={"score": config.NumberColumn(title, format="%.3f")}
        | {name: config.NumberColumn(measured[name], format="%.1f") for name in known}
        | {name: labels[name] for name in settings},
    )
    picked = event["selection"]["rows"]
    number = int(ranked["trial"].iloc[picked[0]]) if picked else None
    label = "Train this trial" if number is None else f"Train trial {number}"
    drawn = {} if number is None else _drawn(run, number)
    has_ended_early = number is not None and not drawn.keys() >= labels.keys()
    words = "A run with this trial's settings; tick a row of the table first."
    if st.button(
        label,
        icon=":material/play_arrow:",
        disabled=number is None or has_ended_early,
        key="sweep-train",
        help="This trial has not drawn its settings." if has_ended_early else words,
    ):
        run_id = create_trial_run(store(), run, {**run.settings, **drawn})
        queue().submit(run_id)
        st.switch_page("pages/train.py", query_params={"run": run_id})


def _drawn(run: Run, number: int) -> dict:
    """Return the settings that a trial drew; one that was cut off may have none."""
    study = sweeps.read_study(store().folder(run.id))
    return study.trials[number].params if study else {}


def _length(run: Run) -> tuple:
    """Return what changes when a trial is added."""
    path = store().folder(run.id) / sweeps.JOURNAL
    return (path.stat().st_size,) if path.is_file() else ()


@st.cache_data(
    max_entries=20,
    show_spinner=False,
    hash_funcs={Run: lambda run: (store().folder(run.id), _length(run))},
)
def _found(run: Run) -> tuple[pd.DataFrame, dict[str, float], list[str]]:
    """Return a sweep's trials and what its settings matter; until one is added.

    Last the settings that matter by more than chance.
    """
    study = sweeps.read_study(store().folder(run.id))
    if study is None:
        return pd.DataFrame(columns=["trial", "state", "score"]), {}, []
    table = sweeps.trial_table(study)
    if int((table["state"] == "done").sum()) < MIN_TRIALS:
        return table, {}, []
    importance = sweeps.setting_importance(study)
    return table, importance, sweeps.clear_settings(table, list(importance))
