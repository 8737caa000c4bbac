"""Explain: pick a test row or change it, say the answer, show what decided it."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, label_colors
from pages.common.cached.predictions import predictions
from pages.common.cached.trees import drawn_tree, routed_tree
from pages.common.theme import dot, mode, page_title, show_figure
from pages.common.views.parts import pick_view
from pages.common.views.tree_picture import show_tree
from pages.common.widgets.row import Row, pick_place, pick_row
from pages.common.words import plain
from treelab.evaluation.estimator_predictions import estimator_predictions
from treelab.evaluation.leaf_scores import LeafScore, score_leaf
from treelab.figures.style.colors import palette
from treelab.figures.tree import columns_by_path
from treelab.figures.viewer.rows import row_path
from treelab.figures.weights import weights_figure
from treelab.trees.labels import plain_label
from treelab.trees.text.nodes import path_sentences
from treelab.trees.text.numerals import counted, percent, probability, significant
from treelab.trees.text.rules import rule_text
from treelab.trees.tree import Tree

BARS = 8  # trees that are named in "who decided"
MOST_OF_IT = 0.9


def answer_words(loaded: LoadedRun, values) -> str:
    """Say what the run predictions for one row."""
    said = loaded.model.predict(values)[0]
    if loaded.model.classes is None:
        return with_unit(loaded, float(said))
    sure = loaded.model.predict_proba(values).max()
    return f"“{said}”, {probability(float(sure))}"


def with_unit(loaded: LoadedRun, value: float) -> str:
    """Write a value of the target with its unit."""
    return f"{significant(value)} {loaded.model.target_unit}".rstrip()


def show_answer(loaded: LoadedRun, row: Row) -> None:
    """Say the answer, large, and below it what is true."""
    color = palette(mode()).accent
    if loaded.model.classes is not None:
        color = label_colors(loaded)[plain_label(loaded.model.predict(row.values)[0])]
    words = dot(color, answer_words(loaded, row.values))
    st.html(f'<div class="answer">{words}</div>')
    st.markdown(truth_words(loaded, row))


def truth_words(loaded: LoadedRun, row: Row) -> str:
    """Say what is true of the row, or how it was changed."""
    if row.changed:
        changes = ", ".join(
            f"{plain(column)} from {plain(before)} to {plain(now)}"
            for column, (before, now) in row.changed.items()
        )
        return (
            f"You changed {changes}. As the row was, the answer is "
            f"{plain(answer_words(loaded, row.original))}. "
            "What would be true now is not known."
        )
    if loaded.model.classes is None:
        off = abs(float(loaded.model.predict(row.values)[0]) - float(row.truth))
        truth = plain(with_unit(loaded, float(row.truth)))
        return f"True is {truth}: off by {plain(with_unit(loaded, off))}."
    if loaded.model.predict(row.values)[0] == row.truth:
        return f"It is right: the row is “{plain(row.truth)}”."
    return f"It is wrong: the row is “{plain(row.truth)}”."


def evidence_words(loaded: LoadedRun, found: LeafScore) -> str:
    """Say how many test rows the rule holds for, and how good it is on them."""
    if found.n_rows == 0:
        return f"No other of the {found.n_total:,} test rows takes this way."
    held = f"It holds for {found.n_rows:,} of {counted(found.n_total, 'test row')}"
    if found.accuracy is None:
        off = plain(with_unit(loaded, found.mean_absolute_error))
        return f"{held}, and is off by {off} on average."
    return f"{held}, and is right for {percent(found.accuracy)} of them."


def show_way(
    loaded: LoadedRun, tree: Tree, row: Row, key: str, estimator=None
) -> list[int]:
    """Draw a tree with the row's path lit; return the path."""
    common = tree is routed_tree(loaded, estimator)
    label = "the changed row" if row.changed else "this row"
    show_tree(
        loaded,
        tree,
        key,
        f"routed {estimator}" if common else None,
        paths=[row_path(tree, row.values, label)],
        height=560,
    )
    return tree.path(row.values)


def explain_tree(loaded: LoadedRun, row: Row) -> None:
    """Show the way of the row through the one tree, in the picture and in words."""
    tree = routed_tree(loaded, row=row.values)
    left, right = st.columns([5, 2], gap="large")
    with left:
        path = show_way(loaded, tree, row, "way")
    with right:
        st.markdown("**The way there**")
        steps = [plain(step) for step in path_sentences(tree, row.values, most=3)]
        if loaded.has_predictor:
            steps[-1] = (
                "The predictor on top reads how far the row passed each node and "
                f"answers {plain(answer_words(loaded, row.values))}."
            )
        st.markdown("\n".join(f"{i}. {step}" for i, step in enumerate(steps, 1)))
        says = predictions(loaded, "test") if loaded.has_predictor else None
        found = score_leaf(tree, path[-1], *loaded.split.rows("test"), says)
        st.caption(
            evidence_words(loaded, found).replace("It holds", "The rule holds", 1)
        )


def explain_ensemble(loaded: LoadedRun, row: Row) -> None:
    """Show who decided, and the way of the row through one of those trees."""
    model = loaded.model
    k = min(BARS, model.n_estimators)
    index, weight = (part[0] for part in model.top_estimators(row.values, k))
    n_most = int(model.n_estimators_for_share(row.values, MOST_OF_IT)[0])
    st.markdown(
        f"{percent(weight[0])} of this answer comes from one of "
        f"{counted(model.n_estimators, 'small tree')}; "
        f"{counted(n_most, 'tree')} {'holds' if n_most == 1 else 'hold'} "
        f"{MOST_OF_IT:.0%} of it."
    )
    agree = None
    if model.classes is not None:
        said = model.predict(row.values)[0]
        agree = estimator_predictions(model, row.values, index) == said
    left, right = st.columns([5, 3], gap="large")
    with right:
        st.markdown("**Who decided**")
        shown = st.pills(
            "Tree that is drawn",
            index.tolist(),
            default=int(index[0]),
            required=True,
            wrap=True,
            format_func=lambda e: f"tree {e}",
            key=f"opened-{loaded.run.id}-{index.tolist()}",
        )
        show_figure(
            weights_figure(
                index, weight, model.n_estimators, shown=shown, agree=agree, mode=mode()
            ),
            key="who-decided",
            alt=f"Tree {index[0]} has {percent(weight[0])} of the say on this row; "
            f"{n_most} trees hold {MOST_OF_IT:.0%}.",
        )
        if agree is not None and not agree.all():
            st.caption("A hatched tree alone would say something else.")
    with left:
        say = weight[index.tolist().index(shown)]
        st.markdown(f"**Tree {shown}, {percent(say)} of the answer**")
        tree = routed_tree(loaded, shown, row=row.values)
        path = show_way(loaded, tree, row, "way", shown)
        found = score_leaf(tree, path[-1], *loaded.split.rows("test"))
        st.markdown(f"Its rule: {plain(rule_text(tree, path[-1]))}.")
        st.caption(evidence_words(loaded, found))


def deciding_tree(loaded: LoadedRun, place: int) -> int | None:
    """Return an ensemble's heaviest tree on a test row; None for a single tree."""
    if not loaded.is_ensemble:
        return None
    return int(loaded.model.top_estimators(loaded.split.X_test.iloc[[place]])[0][0, 0])


page_title(
    "Why this answer?",
    "The answer for one test row, what decided it, and what would change it.",
)
loaded = pick_view()
place = pick_place(loaded)
answer = st.container(key="answer", gap="xsmall")
asked = drawn_tree(loaded, deciding_tree(loaded, place))
row = pick_row(loaded, place, columns_by_path(asked, loaded.split.X_test.iloc[[place]]))
with answer:
    show_answer(loaded, row)
if loaded.is_ensemble:
    explain_ensemble(loaded, row)
else:
    explain_tree(loaded, row)
