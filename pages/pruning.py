"""Pruning: pick a run, slide along its path of smaller trees, draw tree and score."""

from dataclasses import replace

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, ranked_classes
from pages.common.cached.pruning_steps import PruningSteps, pruning_steps
from pages.common.cached.trees import routed_tree
from pages.common.theme import mode, page_title, show_figure
from pages.common.views.groups import LOSS, LOSS_AXIS
from pages.common.views.parts import part_words, pick_view
from pages.common.views.tree_picture import show_tree
from pages.common.words import plain
from treelab.evaluation.knee import KNEE_TOLERANCE, knee_of
from treelab.evaluation.metrics import TITLES, headline
from treelab.evaluation.routing import routing_table
from treelab.figures.pruning_path import MARGINS, place_of, pruning_figure
from treelab.figures.routing import heat_tree_figure, levels_to_draw
from treelab.trees.text.numerals import counted, shortest, significant

TEST = "test_score"


def no_slider(loaded: LoadedRun) -> None:
    """Say why an ensemble is not pruned here, and what to do instead."""
    st.info(
        f"There is no slider for this run: {loaded.model.n_estimators:,} small trees "
        "answer together, so no single one can be cut without changing all answers.",
        icon=":material/info:",
    )
    st.markdown(
        "For a smaller model, train GRANDE again with fewer estimators or less depth. "
        "For one tree that answers alone, choose a run of CART, GradTree, GET or the "
        "argmin tree above."
    )
    st.page_link("pages/train.py", label="Train again", icon=":material/show_chart:")
    st.page_link(
        "pages/tree.py", label="See its heaviest trees", icon=":material/account_tree:"
    )


def finding(steps: PruningSteps, step: int, reference: int, metric: str) -> str:
    """Say what this tree costs and saves against the reference, in one line."""
    leaves = steps.table["leaves"].iloc[step]
    column = TEST if TEST in steps.table else "valid_loss"
    score = steps.table[column].iloc[step]
    said = (
        f"{counted(leaves, 'leaf', 'leaves')}, depth {steps.trees[step].depth}, "
        f"{significant(score)} {metric}"
    )
    if step == reference:
        return said
    before = steps.table[column].iloc[reference]
    which = "chosen" if steps.chosen is not None else "trained"
    return (
        f"{said}; the tree as {which} has "
        f"{counted(steps.table['leaves'].iloc[reference], 'leaf', 'leaves')}, depth "
        f"{steps.trees[reference].depth} and {significant(before)}"
    )


def step_labels(steps: PruningSteps) -> list[str]:
    """Name each step of the slider; no two names are alike."""
    labels = []
    for strength, leaves in zip(steps.table["strength"], steps.table["leaves"]):
        label = f"{shortest(strength)} · {counted(leaves, 'leaf', 'leaves')}"
        while label in labels:
            label += " again"
        labels.append(label)
    return labels


@st.cache_resource(show_spinner=False, max_entries=16)
def path_figure(
    key: tuple, mode: str, _steps: PruningSteps, strength: str, score: str, n_rows
):
    """Draw a run's path once; the slider only moves the line over it."""
    return pruning_figure(
        _steps.table,
        chosen=_steps.chosen,
        strength_title=strength,
        score_title=score,
        n_rows=n_rows,
        mode=mode,
    )


def line_over(step: int, n_steps: int) -> str:
    """Return HTML of the line that marks a step in the path's figure."""
    left, right = MARGINS["l"], MARGINS["r"]
    share = place_of(step, n_steps)
    return (
        f'<div class="line" style="left:calc({left}px + {share:.5f} * '
        f"(100% - {left + right}px));top:{MARGINS['t']}px;"
        f'bottom:{MARGINS["b"]}px"></div>'
    )


def pick_who_answers(loaded: LoadedRun) -> bool:
    """Let the visitor choose who answers; True for the tree alone."""
    metric = TITLES[headline(loaded.run.problem.task)]
    chosen = loaded.model.chosen
    words = {}
    for alone, who in ((False, "Tree and predictor"), (True, "Tree alone")):
        score = pruning_steps(loaded, alone).table[TEST].iloc[chosen]
        words[alone] = f"{who} · {significant(score)}"
    return st.segmented_control(
        f"Who answers · {metric} on {part_words(loaded, 'test')}",
        list(words),
        format_func=words.__getitem__,
        default=False,
        required=True,
        key=f"answers-{loaded.run.id}",
        help="Scores at the strength that training chose. Alone a tree "
        "answers with what most training rows of the leaf are, or with their mean; the "
        "predictor reads how far a row passes each node.",
    )


@st.fragment
def slide(loaded: LoadedRun) -> None:
    """Show the tree, the scores and the sizes where the slider stands."""
    alone = loaded.has_predictor and loaded.has_labels and pick_who_answers(loaded)
    steps = pruning_steps(loaded, alone)
    trained = steps.chosen is not None
    metric = TITLES[headline(loaded.run.problem.task)]
    if not loaded.has_labels:
        metric = "validation loss"
    best = knee_of(steps.table)
    labels = step_labels(steps)
    strength = "Pruning strength (lambda)"
    if not trained:
        strength = "Complexity parameter (ccp_alpha)"
    step = st.select_slider(
        strength,
        range(len(steps.trees)),
        value=steps.chosen if trained else best,
        format_func=labels.__getitem__,
        key=f"step-{loaded.run.id}",
        help="How strongly small trees are preferred; they were all trained together."
        if trained
        else "How much impurity a leaf must save to stay (cost-complexity pruning).",
    )
    reference = steps.chosen if trained else 0
    st.header(plain(finding(steps, step, reference, metric)), anchor=False)
    st.caption(judge_words(loaded))
    left, right = st.columns([3, 2], gap="large")
    path = right.container(key="path")
    path.html(line_over(step, len(labels)))  # first: it moves at once
    with left:
        draw_or_route(without_predictor(loaded) if alone else loaded, steps, step)
    rows = {
        "valid_score": len(loaded.split.y_valid),
        TEST: len(loaded.split.y_test),
    }
    axis = strength[0].lower() + strength[1:]
    with path:
        show_figure(
            path_figure((*loaded.key, alone), mode(), steps, axis, metric, rows),
            key="pruning-path",
            alt=f"{metric} and size of {counted(len(labels), 'tree')} against the "
            f"strength of pruning; the knee is at {labels[best]}.",
        )
    right.caption(
        f"Knee: the smallest tree that is at most {KNEE_TOLERANCE} worse than the "
        "best on the validation rows."
        + (" Validation rows chose the strength." if trained else "")
        + seen_validation(loaded)
    )


def without_predictor(loaded: LoadedRun) -> LoadedRun:
    """Return the run as if its trees had always answered alone."""
    path = loaded.model
    return replace(loaded, model=replace(path, predictors=(None,) * len(path)))


def judge_words(loaded: LoadedRun) -> str:
    """Say what the numbers were measured on, and what they cannot tell."""
    if loaded.has_labels:
        return f"Scores: {part_words(loaded, 'test')}."
    return (
        f"{LOSS}, as {LOSS_AXIS}, on rows held out; less is better. No labels are "
        "known, so nothing here tells whether the clusters are the right ones. With "
        "known labels, named on Train, their purity is measured."
    )


def seen_validation(loaded: LoadedRun) -> str:
    """Warn where validation rows also trained the tree."""
    n_rows = getattr(loaded.model, "n_rows", None)
    if n_rows is not None and n_rows[0] > len(loaded.split.y_train):
        return (
            " This tree learned from the validation rows as well, so its validation "
            "score flatters it; the test score does not."
        )
    return ""


def draw_or_route(loaded: LoadedRun, steps: PruningSteps, step: int) -> None:
    """Draw the tree by its answers, or by the way of one class's test rows."""
    tree = steps.trees[step]
    classes = [str(label) for label in ranked_classes(loaded)]
    ways = ["What it says", *(f"Where {name} goes" for name in classes[:6])]
    if not classes:
        ways.append("Where the rows go")
    way = st.pills(
        "Picture",
        ways,
        default=ways[0],
        required=True,
        format_func=plain,
        key=f"pruning-picture-{loaded.run.id}",
        label_visibility="collapsed",
    )
    if way == ways[0]:
        who = ", predictor on top" if loaded.has_predictor else ""
        show_tree(loaded, tree, "pruned", f"step {step}{who}")
        return
    X, y = loaded.split.rows("test")
    if classes:
        X = X[(y == ranked_classes(loaded)[ways.index(way) - 1]).to_numpy()]
    if steps.chosen is not None:
        tree = routed_tree(loaded, strength=step)
    figure = heat_tree_figure(
        tree,
        routing_table(tree, X),
        rows_name="test rows",
        max_depth=levels_to_draw(tree),
        mode=mode(),
    )
    show_figure(figure, key="pruning-heat", alt=f"{way}, on {len(X)} test rows.")
    st.caption(f"{counted(len(X), 'test row')}; circles ask, yes goes left.")


page_title(
    "How small can it be?",
    "The same tree, pruned more and more; nothing is trained while you slide.",
)
loaded = pick_view()
if loaded.is_ensemble:
    no_slider(loaded)
    st.stop()
steps = pruning_steps(loaded)
if len(steps.trees) < 2:
    st.info(
        "There is nothing to slide: this tree is a single leaf, or it was trained with "
        "one pruning strength.",
        icon=":material/info:",
    )
    show_tree(loaded, steps.trees[0], "pruned", "step 0")
    st.stop()
slide(loaded)
