"""What the Look pages have in common: the run, its colours, its pictures of trees."""

import html

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, label_colors, load_run
from pages.common.cached.predictions import top_estimators
from pages.common.cached.trees import drawn_tree
from pages.common.theme import dot, mode
from pages.common.widgets.run_picker import pick_run
from pages.common.words import SPLIT_NAMES, plain
from treelab.evaluation.estimator_weights import are_equal
from treelab.figures.tree import plan_picture, thumbnail_svg, tree_alt
from treelab.runs.jobs.model_facts import ON_TOP
from treelab.trees.text.dot import to_dot
from treelab.trees.text.numerals import counted, percent
from treelab.trees.tree import Tree

_MOST_IN_LEGEND = 12
_THUMBNAILS, _MOST_THUMBNAILS = 6, 24
_STAMP = 150  # pixels across, so that six stand beside each other
_MORE_LEVELS = 3  # that a visitor may add to those drawn at first


def pick_view(*, growing: bool = True, **options) -> LoadedRun:
    """Let the visitor choose a run, and say so where it still grows.

    Takes the options of ``pick_run``.
    """
    run = pick_run(growing=growing, **options)
    try:
        loaded = load_run(run)
    except (LookupError, OSError, ValueError) as error:
        st.error(f"This run cannot be shown. {plain(error)}", icon=":material/error:")
        st.page_link("pages/runs.py", label="Look at all runs")
        st.stop()
    if loaded.epoch is not None:
        grows = "It still trains" if run.state == "running" else "It kept no model"
        st.info(
            f"{grows}; this is its tree of epoch {loaded.epoch:g}.",
            icon=":material/hourglass_top:",
        )
        if run.state == "running":
            st.button("Show the newest tree", icon=":material/refresh:")
    return loaded


def pick_estimator(loaded: LoadedRun) -> int | None:
    """Let the visitor choose one of an ensemble's heaviest trees; None for one tree."""
    if not loaded.is_ensemble:
        return None
    index, weight = top_estimators(loaded)
    more = f"more-trees-{loaded.run.id}"
    n_shown = _MOST_THUMBNAILS if st.session_state.get(more) else _THUMBNAILS
    index, weight = index[:n_shown], weight[:n_shown]
    key = f"estimator-{loaded.run.id}"
    if st.session_state.get(key) not in index.tolist():
        st.session_state[key] = int(index[0])
    total = counted(loaded.model.n_estimators, "tree")
    alike = are_equal(weight)
    if alike:
        which = f"these are the first {len(index)}. All have the same say."
    else:
        which = (
            f"these {len(index)} have the most say on the "
            f"{len(loaded.split.X_test):,} test rows."
        )
    st.markdown(
        f"**The ensemble answers, not this one tree.** Its {total} share each answer; "
        f"{which}"
    )
    colors = label_colors(loaded)
    with st.container(horizontal=True, key="thumbnails"):
        for e, say in zip(index.tolist(), weight):
            with st.container(width=_STAMP, gap="xxsmall"):
                lit = st.session_state[key] == e
                tree = drawn_tree(loaded, e)
                st.image(
                    thumbnail_svg(tree, colors, mode=mode(), highlighted=lit),
                    width=_STAMP,
                    alt=tree_alt(tree),
                )
                st.button(
                    f"Tree {e} · {percent(float(say))}",
                    key=f"open-{loaded.run.id}-{e}",
                    type="primary" if lit else "secondary",
                    width=_STAMP,
                    help=f"Tree {e} has {percent(float(say))} of the say, on average "
                    "over the test rows.",
                    on_click=st.session_state.__setitem__,
                    args=(key, e),
                )
    if loaded.model.n_estimators > _THUMBNAILS:
        most = min(_MOST_THUMBNAILS, loaded.model.n_estimators)
        those = f"{most} trees" if alike else f"the {most} heaviest trees"
        st.toggle(f"Show {those}", key=more)
    return st.session_state[key]


def draw_tree(tree: Tree, loaded: LoadedRun, key: str) -> None:
    """Draw a tree as a still picture; one too big to read is cut at a level.

    Parameters
    ----------
    tree : Tree
    loaded : LoadedRun
        The run it belongs to, for the classes' colours.
    key : str
        Names the picture's controls.
    """
    plan = plan_picture(tree)
    if plan.depth < tree.depth:
        depth = st.slider(
            f"Levels drawn, of {tree.depth}",
            1,
            min(tree.depth, plan.depth + _MORE_LEVELS),
            plan.depth,
            key=f"levels-{key}-{loaded.run.id}-{tree.n_nodes}",
            width=320,
            help="The tree has more branches than fit on a page; what is not drawn is "
            "counted below its branch, and the rules list every leaf.",
        )
        plan = plan_picture(tree, depth=depth)
    text = to_dot(
        tree,
        palette=label_colors(loaded) or None,
        mode=mode(),
        legend=False,
        layout=plan.layout,
    )
    with st.container(
        key=f"tree-{'fit' if plan.fits else 'scroll'}-{key}",
        # Centred, the left of what is scrolled could not be reached.
        horizontal_alignment="center" if plan.fits else "left",
    ):
        st.graphviz_chart(text, alt=tree_alt(tree))
    class_legend(loaded)


def tree_notes(tree: Tree, loaded: LoadedRun) -> None:
    """Say what the picture of a tree does not show by itself."""
    notes = [*tree.notes]
    if loaded.has_predictor:
        notes.append(ON_TOP)
    for note in dict.fromkeys(notes):
        st.caption(plain(note))


def class_legend(loaded: LoadedRun) -> None:
    """Name the classes' colours, the most frequent class first."""
    colors = label_colors(loaded)
    items = [dot(color, str(label)) for label, color in colors.items()]
    more = len(items) - _MOST_IN_LEGEND
    if more > 0:
        items = [*items[:_MOST_IN_LEGEND], html.escape(f"and {more} more")]
    if items:
        spans = "".join(f'<span class="key">{item}</span>' for item in items)
        st.html(f'<div class="legend">{spans}</div>')


def facts_table(facts: dict[str, object]) -> None:
    """Show short facts as two columns: what, and how many."""
    lines = "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(str(value))}</dd></div>"
        for name, value in facts.items()
    )
    st.html(f'<dl class="facts">{lines}</dl>')


def shown_rows(tree: Tree, loaded: LoadedRun) -> str:
    """Name the rows that a tree counts: "341 training rows"."""
    n_rows, n_train = int(tree.n_rows[0]), len(loaded.split.y_train)
    if n_rows == n_train:
        return counted(n_rows, "training row")
    if n_rows == n_train + len(loaded.split.y_valid):
        return f"{counted(n_rows, 'row')}, training and validation together"
    return f"the {counted(n_rows, 'row')} it was shown"


def part_words(loaded: LoadedRun, part: str) -> str:
    """Name a part of the rows with its size: "test, 114 rows"."""
    return f"{SPLIT_NAMES[part]}, {counted(len(loaded.split.rows(part)[1]), 'row')}"
