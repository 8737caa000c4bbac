"""What is said of a tree beside its picture."""

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.cached.predictions import (
    imitations,
    score_differences,
    split_scores,
    tree_score,
)
from pages.cached.runs import LoadedRun, kept_constraints, run_colors, run_tree, shared
from pages.cached.store import queue, store
from pages.widgets.page import mode, pick_one, show_figure
from pages.widgets.tree_viewer import show_tree
from pages.widgets.words import capital, fitted_words, plain, short_rule, split_words
from treelab.data.split import SPLIT_NAMES, SPLITS
from treelab.data.writing import csv_text
from treelab.evaluation import node_report as nodes
from treelab.evaluation.metrics import (
    TITLES,
    log_loss_words,
    output_words,
    score_text,
    total_words,
)
from treelab.evaluation.surrogates import Imitation
from treelab.figures.html import color_legend, facts_table
from treelab.figures.node_report import statistics_table, statistics_words
from treelab.figures.overview import levels_shown, overview_figure
from treelab.figures.rules import rule_with_sums, rules_table, sum_names, sum_terms
from treelab.figures.split import split_figure
from treelab.figures.tree import plan_picture, tree_alt
from treelab.runs.jobs.fit import without_origin
from treelab.runs.jobs.residual import residual_problem, residual_title
from treelab.trees import text
from treelab.trees.constraints import Constraints
from treelab.trees.date_parts import with_dates
from treelab.trees.dot import to_dot
from treelab.trees.pruning import dropped_words, terms_per_split, without_small_terms
from treelab.trees.tree import OBLIQUE, Tree
from treelab.trees.words import counted, percent, significant


def show_facts(loaded: LoadedRun, tree: Tree, own: LoadedRun) -> None:
    """Show a tree's score, size and constraints; ``own`` has the run's own tree."""
    _show_score(loaded, tree, own)
    sizes = {}
    if loaded.is_ensemble:
        depth = loaded.run.summary.get("depth", tree.depth)
        sizes["Ensemble"] = f"{loaded.model.n_estimators:,} trees × depth {depth}"
    counts = {"Leaves": tree.n_leaves, "Splits": tree.n_splits, "Depth": tree.depth}
    sizes |= {name: f"{count:,}" for name, count in counts.items()}
    used = f"{len(tree.columns)} of {len(loaded.run.problem.columns)}"
    st.html(facts_table(sizes | {"Features used": used}))
    _show_constraints(loaded, tree)


def _show_constraints(loaded: LoadedRun, tree: Tree) -> None:
    """Show what was asked of the tree, and whether it holds."""
    asked = loaded.run.constraints
    if not asked:
        return
    lines = ["**Constraints**"]
    if asked.monotone_class:
        of = plain(asked.monotone_class)
        lines.append(f"Up and down are of the probability of {of}.")
    for found in kept_constraints(loaded.run, tree):
        icon, word = ":green[:material/check_circle:]", f"holds {found.where}"
        if not found.holds:
            icon = ":red[:material/error:]"
            word = f"does not hold. {plain(found.broken[0])}"
        lines.append(f"{icon} {plain(found.asked)}: {word}")
    for name in ("column_costs", "class_costs"):
        if own := getattr(asked, name):
            lines.append(f":material/balance: {plain(Constraints(**{name: own}))}")
    st.markdown("  \n".join(lines))


def _show_score(loaded: LoadedRun, tree: Tree, own: LoadedRun) -> None:
    """Show the score on test rows, or that clusters have none."""
    if not loaded.has_labels:
        st.metric("Clusters", f"{tree.n_leaves:,}")
        st.caption("No labels are known, so these clusters have no score.")
        return
    problem, scores = loaded.run.problem, split_scores(loaded, "test")
    best, shown = loaded.headline, _test_score(loaded)
    moved, against = shown - _test_score(own), None
    is_same = abs(moved) < 0.0005
    if loaded.variant:
        leaves = counted(run_tree(own).n_leaves, "leaf", "leaves")
        how = "as" if is_same else f"{moved:+.3f} against"
        against = f"{how} the retained tree, {leaves}"
    title = f"mean {TITLES[best]}" if problem.more_targets else TITLES[best]
    words = "Of the whole ensemble." if loaded.is_ensemble else None
    is_clear = False  # green and red are verdicts
    if against and not (is_same or loaded.outputs or loaded.model.has_predictor):
        is_clear = score_differences(own, loaded)[best].clear
        words = "Grey: the 95% interval of the change holds zero, so it may be chance."
    st.metric(
        f"{title} · {split_words(loaded, 'test')}",
        significant(shown),
        against,
        delta_color="normal" if is_clear else "off",
        help=words,
    )
    if loaded.model.has_predictor:
        st.caption(
            "Of the tree as drawn. With the predictor on top, which makes this run's "
            f"predictions: {significant(scores[best])} {TITLES[best]}.",
            help="A leaf as drawn predicts the majority class, or the mean, of its "
            "training rows. The predictor “leaf” trains a tree for that.",
        )
        return
    others = [
        f"{TITLES[name]} {score_text(name, scores[name], loaded.model)}".replace(
            " ", "\N{NO-BREAK SPACE}"
        )
        for name in TITLES
        if name in scores and name not in (best, "log_loss")
    ]
    st.caption(" · ".join(others))
    totals = total_words(scores, problem.target, problem.weight)
    for words in filter(None, (output_words(scores), totals)):
        st.caption(plain(f"{words}."))
    if words := log_loss_words(scores):
        st.caption(
            f"{capital(words)}.",
            help="Mean negative logarithm of the probability that the true class was "
            "given, in nats: lower is better. Class frequencies are those of the "
            "training rows.",
        )


def _test_score(loaded: LoadedRun) -> float:
    """Return the score of the tree as drawn, or of the ensemble, on the test rows."""
    if loaded.model.has_predictor:
        return tree_score(loaded, run_tree(loaded))
    return split_scores(loaded, "test")[loaded.headline]


def overview(tree: Tree, loaded: LoadedRun, kind: str, key: str) -> int | None:
    """Draw an icicle or sunburst, a key for each tree; return the node just clicked."""
    event = show_figure(
        _overview(loaded, key, kind, mode(), tree),
        key=f"{key}-{kind}-{loaded.run.id}",
        alt=f"{tree_alt(tree)} Each node is an area as large as its rows.",
        on_select="rerun",
    )
    if tree.classes is not None:
        st.html(color_legend(run_colors(loaded)))
    levels = levels_shown(tree)
    only = f" The first {levels} of {tree.depth} levels." if levels < tree.depth else ""
    what = "confidence" if tree.classes is not None else text.value_word(tree)
    st.caption(
        f"Areas are as large as their rows, of {fitted_words(loaded)}; colour: "
        f"{what}. Click a branch to zoom in, click its top to zoom out.{only}"
    )
    points = event.selection.points
    return int(points[0]["id"]) if points else None


@shared(16)
def _overview(loaded: LoadedRun, key: str, kind: str, mode, _tree: Tree) -> go.Figure:
    """Draw the areas once; the key names the tree."""
    return overview_figure(_tree, run_colors(loaded), kind=kind, mode=mode)


FRACTIONS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)


@st.fragment
def show_lens(loaded: LoadedRun) -> None:
    """Let the visitor drop small terms, and draw the tree that is left."""
    fraction = st.select_slider(
        "Drop terms below this fraction of their sum",
        FRACTIONS,
        value=0.05,
        format_func=lambda own: f"{own:.0%}",
        key=f"lens-{loaded.run.id}",
        help="A term counts by its weight times its column's standard deviation. The "
        "run stays as it is: this is a look at which terms matter.",
    )
    tree, lens = run_tree(loaded), _lens_tree(loaded, fraction)
    before, after = (each.predict(loaded.split.X_test) for each in (tree, lens))
    words = dropped_words(tree, lens, before, after)
    if loaded.has_labels:
        was, now = (significant(tree_score(loaded, each)) for each in (tree, lens))
        words += f"; {TITLES[loaded.headline]} {now} instead of {was} "
        words += f"({split_words(loaded, 'test')})"
    st.markdown(f"{words}.")
    show_tree(loaded, lens, "lens", f"lens {fraction}")


@shared(64)
def _lens_tree(loaded: LoadedRun, fraction: float) -> Tree:
    """The tree without small terms, with the rows that the run was fitted to."""
    tree = without_small_terms(run_tree(loaded), fraction)
    return tree.with_rows(*loaded.rows("fitted"))


def show_surrogate(loaded: LoadedRun) -> None:
    """Say how well the tree imitates, and offer the tree of where it differs."""
    problem = loaded.run.problem
    st.header(plain(f"How well it imitates {problem.target}"), anchor=False)
    try:
        found = imitations(loaded)
    except ValueError as error:
        st.warning(plain(error), icon=":material/warning:")
        return
    name = f"“{problem.target}”"
    st.markdown(plain(" ".join(found["test"].sentences(name, "test row"))))
    on_fitted = _error_words(found["fitted"], fitted_words(loaded))
    n_test = counted(loaded.n_rows("test"), "test row")
    st.caption(
        f"The tree differs from the model {on_fitted}, "
        f"{_error_words(found['test'], n_test)}. Scores elsewhere on this page are "
        "against the model, not against the truth."
    )
    words = (
        "Trains a CART that predicts, from the same features, on which rows this "
        "tree differs from the model, or by how much. It becomes a run."
    )
    if not st.button(
        "Find where it differs",
        icon=":material/difference:",
        key="residual",
        disabled=bool(loaded.variant),  # it is of the tree that was stored
        help="Keep this size first." if loaded.variant else words,
    ):
        return
    try:
        problem = residual_problem(store(), loaded.run)
    except ValueError as error:
        st.info(plain(error), icon=":material/info:")
        return
    title, runs = residual_title(loaded.run), store().runs()
    known = (r.id for r in runs if (r.title, r.problem) == (title, problem))
    if (run_id := next(known, None)) is None:  # else it is opened again
        run_id = store().create("cart", {}, problem, title=title, parent=loaded.run)
        queue().submit(run_id)
    st.switch_page("pages/train.py", query_params={"run": run_id})


def _error_words(found: Imitation, rows: str) -> str:
    """Say how often, or by how much, the tree differs on some rows."""
    rows += nodes.BY_WEIGHT * found.is_weighted
    if found.task == "regression":
        return f"by {significant(found.fidelity['mae'])} on average on {rows}"
    return f"on {percent(1 - found.fidelity['accuracy'])} of {rows}"


def show_rules(loaded: LoadedRun, tree: Tree, estimator: int | None) -> None:
    """List the tree's rules, the tree as text and, of sums, with fewer terms."""
    n_rules, rows = counted(tree.n_leaves, "rule"), fitted_words(loaded)
    st.markdown(f"**{n_rules}, one per leaf, largest first.** Rows: {rows}.")
    st.html(_rules(loaded, estimator))
    with st.expander("The tree as text"):
        st.code(text.to_text(tree), language=None, wrap_lines=True)
    has_sums = not loaded.is_ensemble and terms_per_split(tree) > 1
    if has_sums and st.toggle("Drop small weights", key="lens"):
        show_lens(loaded)


@shared(32)
def _rules(loaded: LoadedRun, estimator: int | None) -> str:
    """Write the rules once."""
    return rules_table(run_tree(loaded, estimator), run_colors(loaded))


_MORE_LEVELS = 3  # that a visitor may add to those drawn at first


def draw_tree(tree: Tree, loaded: LoadedRun, key: str) -> None:
    """Draw a tree as a still picture, of a large one its upper levels; its notes."""
    colors = run_colors(loaded)
    plan = plan_picture(tree)
    if plan.depth < tree.depth:
        depth = st.slider(
            f"Levels drawn, of {tree.depth}",
            1,
            min(tree.depth, plan.depth + _MORE_LEVELS),
            plan.depth,
            key=f"levels-{key}-{loaded.run.id}-{tree.n_nodes}",
            width=320,
            help="The tree has more branches than fit on a page. What is not drawn is "
            "counted below its branch; the rules list every leaf.",
        )
        plan = plan_picture(tree, depth=depth)
    look = {"palette": colors or None, "mode": mode(), "legend": False}
    dot = to_dot(
        tree, direction=plan.direction, max_depth=plan.depth, wrap=plan.wrap, **look
    )
    # Centred, the left of what is scrolled could not be reached.
    fit, at = ("fit", "center") if plan.fits else ("scroll", "left")
    with st.container(key=f"tree-{fit}-{key}", horizontal_alignment=at):
        st.graphviz_chart(dot, alt=tree_alt(tree))
    if legend := color_legend(colors):
        st.html(legend)
    for note in without_origin(tree, loaded.run.provenance).notes:
        st.caption(plain(note))


def show_node(loaded: LoadedRun, tree: Tree, node: int) -> None:
    """Show a node's condition or prediction, its rule and its rows by data split."""
    rows = {name: loaded.split.rows(name) for name in SPLITS}
    report = nodes.node_report(tree, node, rows)
    if tree.feature[node] == OBLIQUE:
        bound = plain(text.bound_text(tree, node))
        st.markdown(f"**{sum_names(tree)[node]} ≤ {bound}?**")
        st.html(sum_terms(tree, node))
    else:
        st.markdown(f"**{plain(text.node_title(tree, node))}**")
    rule = short_rule(tree, node)
    if (tree.feature == OBLIQUE).any():
        rule = rule_with_sums(tree, text.path_conditions(tree, node))
    is_root = report.rule == "every row"
    st.markdown("All rows pass this node." if is_root else f"Rows with {plain(rule)}.")
    titles = {SPLIT_NAMES[name]: found for name, found in report.statistics.items()}
    st.html(statistics_table(tree, node, titles, run_colors(loaded)))
    st.caption(statistics_words(tree, node, plain(tree.target_unit)))


@st.dialog("Rows at this node", width="large")
def open_rows(loaded: LoadedRun, tree: Tree, node: int, name: str) -> None:
    """List a node's rows over the page; of a sum, also where they lie along it."""
    condition = text.node_title(tree, node)
    st.markdown(f"**{plain(condition)}**")
    if tree.feature[node] == OBLIQUE:
        X, y, _ = loaded.split.rows("train")
        labels = y.to_numpy() if tree.classes is not None else None
        title = "How much each feature moves the sum, and the sums of the training rows"
        st.markdown(f"**{title}**")
        look = {"colors": run_colors(loaded), "mode": mode()}
        figure = split_figure(tree, node, X, labels, **look)
        show_figure(figure, key="oblique-split", alt=f"{title}: {condition}")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = {split: SPLIT_NAMES[split] for split in SPLITS[::-1]}
        split = pick_one("Rows at this node", names, f"rows-of-{loaded.run.id}")
        X, y, _ = loaded.split.rows(split)

        def rows(most: int | None = nodes.MOST_ROWS) -> pd.DataFrame:
            """Return the first rows at the node, or all."""
            found = nodes.node_rows(tree, node, X, y, most=most)
            found = with_dates(found, loaded.split.X_train)
            return nodes.numbered(found, X, f"{SPLIT_NAMES[split]} row")

        st.download_button(
            "Download as CSV",
            lambda: csv_text(rows(None)),
            f"{name}-{SPLIT_NAMES[split]}.csv",
            "text/csv",
            key=f"rows-csv-{loaded.run.id}",
            on_click="ignore",
            icon=":material/download:",
        )
    first, key = rows(), f"rows-at-{loaded.run.id}"
    st.dataframe(first, hide_index=True, placeholder="–", key=key)
    words = f"{counted(len(first), f'{SPLIT_NAMES[split]} row')} at this node."
    if len(first) == nodes.MOST_ROWS:
        words = f"The first {nodes.MOST_ROWS} are shown; the file has all."
    words += " The target comes first, then the features on the decision path."
    st.caption(words)
