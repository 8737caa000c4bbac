"""Training: the runs of one problem as one live view, with curves, tree and cards."""

from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.cached.comparison import without_sizes
from pages.cached.runs import preparation_events, run_events
from pages.cached.store import find_run, newest_of_each_kind, store
from pages.cached.tree_pictures import has_tree, live_tree, tree_epoch
from pages.compare.repeats import show_repeats
from pages.state.choices import choose_run, current_runs
from pages.widgets.curves import show_curves
from pages.widgets.page import page_link
from pages.widgets.runs import names_and_colors, pause_or_resume, run_card
from pages.widgets.tree_viewer import tree_viewer
from pages.widgets.watcher import Watcher
from pages.widgets.words import explained, plain
from treelab.data.problem import Problem
from treelab.runs.run_words import cluster_result_words, origin_words, result_words
from treelab.runs.store.run import Run
from treelab.trees.words import counted

LIVE_HEIGHT = 320  # pixels of the tree beside the curves
MOST_SHOWN = 6  # runs on the chart; the older ones stand below


def show_runs(runs: list[Run], problem: Problem, *, of_clusters: bool) -> None:
    """Show runs of a problem, the newest first, while they train; then earlier ones."""
    chosen, trained = st.session_state.get("run"), without_sizes(runs)
    recent = [run for run in runs if run in trained or run.id == chosen]
    newest = newest_of_each_kind(recent)[:MOST_SHOWN]
    shown = [run for run in recent if run in newest or run.id == chosen]
    earlier = [run for run in runs if run not in shown]
    names = names_and_colors(current_runs())
    with st.container(key="live"):
        _Training(shown, names, problem, of_clusters).show()
    if not of_clusters:
        show_repeats(shown, key="repeats", only_begun=True)
    if earlier:
        title = f"{counted(len(earlier), 'earlier run')} on this table"
        with st.expander(title, icon=":material/history:", key="earlier"):
            for run in earlier:
                st.html(run_card(run, *names[run.id]))
            page_link("runs", "All runs")


@dataclass
class _Training:
    """Runs while they train: what was found, curves, a tree, a card a run."""

    shown: list[Run]
    names: dict[str, tuple[str, str]]
    problem: Problem
    of_clusters: bool

    def show(self) -> None:
        """Draw the runs, and what changes of them until all have ended."""
        active = any(not run.is_finished for run in self.shown)
        self.watcher = Watcher(
            "live",
            1.0 if active else None,
            is_over=lambda: active and all(run.is_finished for run in self.now()),
        )
        part = self.watcher.part
        part("result", self.result_version, self.show_result)
        left, right = st.columns([3, 2], gap="medium")
        with left:
            part("curves", self.curves_version, self.show_curves)
        with right:
            part("tree", self.tree_version, self.show_tree)
        for run in self.shown:
            version = partial(self.card_version, run.id)
            part(f"card-{run.id}", version, partial(self.show_card, run.id))
        self.watcher.start()

    def now(self) -> list[Run]:
        """Return the runs as they are now, without those deleted elsewhere."""
        return [found for run in self.shown if (found := find_run(run.id))]

    def live(self) -> Run | None:
        """Return the run whose tree is drawn: the chosen one, else the newest.

        Until it has a tree, it is one that has.
        """
        now, chosen = self.now(), st.session_state.get("run")
        trained = [run for run in now if run.learner != "cart"]
        found = [run for run in now if run.id == chosen] or trained or now
        if not found or found[0].is_finished:
            return next(iter(found), None)
        return next(filter(has_tree, (found[0], *now)), found[0])

    def result_version(self) -> tuple:
        """Return what changes with the line on what was found."""
        live = self.live()
        states = [(run.id, run.state, run.has_model) for run in self.now()]
        return tuple(states), live and live.id

    def show_result(self) -> None:
        """Show in a line what was found, with links to the run that is drawn below."""
        live, runs = self.live(), self.now()
        if live is None:
            return
        with st.container(
            border=True, horizontal=True, vertical_alignment="center", key="result"
        ):
            names = {run_id: name for run_id, (name, _) in self.names.items()}
            none, words = "No score yet", result_words(runs, names, plain)
            if self.of_clusters:
                none, words = "No clusters yet", cluster_result_words(runs)
            if not words:
                active = counted(sum(not run.is_finished for run in runs), "run")
                st.markdown(none if active == "0 runs" else f"Training {active}")
                return
            st.markdown(words, width="content")
            with st.container(horizontal=True, width="content"):  # wrap together
                off = not live.has_model
                page_link("tree", "See the tree", disabled=off, run=live.id)
                if not self.of_clusters:
                    page_link("compare", "Compare", run=live.id)

    def curves_version(self) -> tuple:
        """Return what changes with the curves: their points, and those before them."""
        found = []
        for run in self.now():
            n_points = len(run_events(run))
            before = () if n_points else (run.stage, len(preparation_events(run)))
            found.append((run.id, run.is_finished, n_points, before))
        return tuple(found)

    def show_curves(self) -> None:
        """Draw the losses."""
        if runs := self.now():
            show_curves(runs, self.names, self.problem, of_clusters=self.of_clusters)

    def tree_version(self) -> tuple:
        """Return what changes with the tree that is drawn."""
        live = self.live()
        return () if live is None else (live.id, live.is_finished, tree_epoch(live))

    def show_tree(self) -> None:
        """Draw the tree of a run as it stands now."""
        run = self.live()
        if run is None:
            return
        (words, payload), name = live_tree(run), plain(self.names[run.id][0])
        if payload is None and not run.is_finished:
            st.markdown(f"**{name}**, its first tree comes soon")
            st.skeleton(LIVE_HEIGHT)
            return
        st.markdown(f"**{name}**, {plain(words)}")
        if origin := origin_words(run):
            st.caption(plain(origin))
        if payload is not None:
            options = {"height": LIVE_HEIGHT, "compact": True, "live": True}
            tree_viewer(payload, f"tree-view-live-{run.id}", **options)

    def card_version(self, run_id: str) -> tuple:
        """Return what changes with a run's card."""
        run, live = find_run(run_id), self.live()
        if run is None or live is None:
            return ()
        card = run_card(run, *self.names[run_id])
        return card, run.stop_requested, run.has_model, live.id == run_id

    def show_card(self, run_id: str) -> None:
        """Draw a run's line, and what can be done with the run beside it."""
        run, live = find_run(run_id), self.live()
        if run is None or live is None:
            return
        given = {"horizontal": True, "vertical_alignment": "center", "border": True}
        with st.container(key=f"card-{run_id}", **given):
            st.html(run_card(run, *self.names[run_id]))
            st.button(
                "Show",
                icon=":material/visibility:",
                key=f"show-{run.id}",
                on_click=explained(choose_run, run.id),
                type="tertiary",
                disabled=live.id == run_id,
                help="Shows this run's tree beside the curves.",
            )
            if run.can_resume or not run.is_finished:
                pause_or_resume(run)
            else:
                page_link("tree", "Open", disabled=not run.has_model, run=run.id)
            if not run.is_finished:
                st.button(
                    "Stop",
                    icon=":material/stop:",
                    key=f"stop-{run.id}",
                    on_click=explained(store().request_stop, run.id),
                    type="tertiary",
                    disabled=run.stop_requested or not store().may_change(run),
                    help="Ends the training and saves the best tree so far.",
                    width=86,
                )
