"""Explain: pick a test row or change it, say the answer, show what decided it."""

import streamlit as st

from pages.common.cached.look import (
    View,
    answers,
    drawn_tree,
    label_colors,
    routed_tree,
)
from pages.common.theme import dot, mode, page_title, show_figure
from pages.common.views.parts import pick_view
from pages.common.views.tree_picture import show_tree, way
from pages.common.widgets.row import Row, pick_place, pick_row
from pages.common.words import plain
from treelab.evaluation.evidence import Evidence, answers_alone, leaf_evidence
from treelab.figures.colors import palette
from treelab.figures.tree import columns_asked
from treelab.figures.weights import percent, weights_figure
from treelab.trees.labels import plain_label
from treelab.trees.text.nodes import path_sentences
from treelab.trees.text.numerals import counted, probability, significant
from treelab.trees.text.rules import rule_text
from treelab.trees.tree import Tree

BARS = 8  # trees that are named in "who decided"
MOST_OF_IT = 0.9


def answer_words(view: View, values) -> str:
    """Say what the run answers for one row."""
    said = view.model.predict(values)[0]
    if view.model.classes is None:
        return with_unit(view, float(said))
    sure = view.model.predict_proba(values).max()
    return f"“{said}”, {probability(float(sure))}"


def with_unit(view: View, value: float) -> str:
    """Write a value of the target with its unit."""
    return f"{significant(value)} {view.model.target_unit}".rstrip()


def show_answer(view: View, row: Row) -> None:
    """Say the answer, large, and below it what is true."""
    color = palette(mode()).accent
    if view.model.classes is not None:
        color = label_colors(view)[plain_label(view.model.predict(row.values)[0])]
    words = dot(color, answer_words(view, row.values))
    st.html(f'<div class="answer">{words}</div>')
    st.markdown(truth_words(view, row))


def truth_words(view: View, row: Row) -> str:
    """Say what is true of the row, or how it was changed."""
    if row.changed:
        changes = ", ".join(
            f"{plain(column)} from {plain(before)} to {plain(now)}"
            for column, (before, now) in row.changed.items()
        )
        return (
            f"You changed {changes}. As the row was, the answer is "
            f"{plain(answer_words(view, row.original))}. "
            "What would be true now is not known."
        )
    if view.model.classes is None:
        off = abs(float(view.model.predict(row.values)[0]) - float(row.truth))
        truth = plain(with_unit(view, float(row.truth)))
        return f"True is {truth}: off by {plain(with_unit(view, off))}."
    if view.model.predict(row.values)[0] == row.truth:
        return f"It is right: the row is “{plain(row.truth)}”."
    return f"It is wrong: the row is “{plain(row.truth)}”."


def evidence_words(view: View, found: Evidence) -> str:
    """Say how many test rows the rule holds for, and how good it is on them."""
    if found.n_rows == 0:
        return f"No other of the {found.n_total:,} test rows takes this way."
    held = f"It holds for {found.n_rows:,} of {counted(found.n_total, 'test row')}"
    if found.right is None:
        off = plain(with_unit(view, found.error))
        return f"{held}, and is off by {off} on average."
    return f"{held}, and is right for {percent(found.right)} of them."


def show_way(view: View, tree: Tree, row: Row, key: str, estimator=None) -> list[int]:
    """Draw a tree with the row's path lit; return the path."""
    common = tree is routed_tree(view, estimator)
    label = "the changed row" if row.changed else "this row"
    show_tree(
        view,
        tree,
        key,
        f"routed {estimator}" if common else None,
        ways=[way(tree, row.values, label)],
        height=560,
    )
    return tree.path(row.values)


def explain_tree(view: View, row: Row) -> None:
    """Show the way of the row through the one tree, in the picture and in words."""
    tree = routed_tree(view, row=row.values)
    left, right = st.columns([5, 2], gap="large")
    with left:
        path = show_way(view, tree, row, "way")
    with right:
        st.markdown("**The way there**")
        steps = [plain(step) for step in path_sentences(tree, row.values, most=3)]
        if view.on_top:
            steps[-1] = (
                "The predictor on top reads how far the row passed each node and "
                f"answers {plain(answer_words(view, row.values))}."
            )
        st.markdown("\n".join(f"{i}. {step}" for i, step in enumerate(steps, 1)))
        says = answers(view, "test") if view.on_top else None
        found = leaf_evidence(tree, path[-1], *view.split.rows("test"), says)
        st.caption(evidence_words(view, found).replace("It holds", "The rule holds", 1))


def explain_ensemble(view: View, row: Row) -> None:
    """Show who decided, and the way of the row through one of those trees."""
    model = view.model
    k = min(BARS, model.n_estimators)
    index, weight = (part[0] for part in model.top_estimators(row.values, k))
    n_most = int(model.estimators_for_share(row.values, MOST_OF_IT)[0])
    st.markdown(
        f"{percent(weight[0])} of this answer comes from one of "
        f"{counted(model.n_estimators, 'small tree')}; "
        f"{counted(n_most, 'tree')} {'holds' if n_most == 1 else 'hold'} "
        f"{MOST_OF_IT:.0%} of it."
    )
    agree = None
    if model.classes is not None:
        said = model.predict(row.values)[0]
        agree = answers_alone(model, row.values, index) == said
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
            key=f"opened-{view.run.id}-{index.tolist()}",
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
        tree = routed_tree(view, shown, row=row.values)
        path = show_way(view, tree, row, "way", shown)
        found = leaf_evidence(tree, path[-1], *view.split.rows("test"))
        st.markdown(f"Its rule: {plain(rule_text(tree, path[-1]))}.")
        st.caption(evidence_words(view, found))


def deciding_tree(view: View, place: int) -> int | None:
    """Return an ensemble's heaviest tree on a test row; None for a single tree."""
    if not view.is_ensemble:
        return None
    return int(view.model.top_estimators(view.split.X_test.iloc[[place]])[0][0, 0])


page_title(
    "Why this answer?",
    "The answer for one test row, what decided it, and what would change it.",
)
view = pick_view()
place = pick_place(view)
answer = st.container(key="answer", gap="xsmall")
asked = drawn_tree(view, deciding_tree(view, place))
row = pick_row(view, place, columns_asked(asked, view.split.X_test.iloc[[place]]))
with answer:
    show_answer(view, row)
if view.is_ensemble:
    explain_ensemble(view, row)
else:
    explain_tree(view, row)
