"""A tree read as rules, one a leaf; sums are named once and written out below."""

import html
from collections.abc import Iterable

import numpy as np
import streamlit as st

from pages.cached.runs import LoadedRun, rules, run_colors
from pages.widgets.html import dot
from pages.widgets.words import fitted_words
from treelab.trees.colors import OTHER
from treelab.trees.text import (
    Condition,
    ObliqueCondition,
    condition_text,
    leaf_conditions,
    term_fractions,
    to_text,
)
from treelab.trees.tree import OBLIQUE, Tree
from treelab.trees.words import clean, counted, percent, rounded, significant

_FEW = 2  # rows of a leaf that are so few that the rule is marked
_TERMS = 3  # of a sum that are not folded away


def show_rules(loaded: LoadedRun, tree: Tree, estimator: int | None) -> None:
    """List the tree's rules, and the tree as text."""
    found = rules(loaded, estimator)
    n_rules = counted(len(found), "rule")
    st.markdown(
        f"**{n_rules}, one per leaf, largest first.** Rows: {fitted_words(loaded)}."
    )
    if (tree.feature == OBLIQUE).any():
        of_leaf = dict(leaf_conditions(tree))
        found["rule"] = [rule_with_sums(tree, of_leaf[leaf]) for leaf in found["leaf"]]
    lines = "".join(_line(loaded, tree, rule) for rule in found.to_dict("records"))
    target = html.escape(clean(tree.target))
    unit = f" ({html.escape(tree.target_unit)})" if tree.target_unit else ""
    sure = "" if tree.classes is None else "<th>confidence</th>"
    weight = "" if tree.weight is None else "<th>weight</th>"
    head = (
        f"<th>rows</th>{weight}<th>share</th><th>{target}{unit}</th>{sure}<th>if</th>"
    )
    table = f'<table class="rules"><thead><tr>{head}</tr></thead>{lines}</table>'
    # A region of its own, which scrolls, is reached by the keyboard as well.
    region = 'class="scrolled" tabindex="0" role="region" aria-label="Rules"'
    st.html(f"<div {region}>{table}</div>")
    if (tree.feature == OBLIQUE).any():
        st.html(sums_list(tree))
    with st.expander("The tree as text"):
        st.code(to_text(tree), language=None, wrap_lines=True)


def _line(loaded: LoadedRun, tree: Tree, rule: dict) -> str:
    """Return HTML of one rule: its numbers, then its words."""
    n_rows = rule["n_rows"]
    rows = f"{n_rows:,}"
    if n_rows <= _FEW:
        rows = f"<mark>{counted(n_rows, 'row')}</mark>"
    weight = ""
    if tree.weight is not None:
        weight = f"<td>{significant(rule['weight'])}</td>"
    numbers = f"<td>{rows}</td>{weight}<td>{percent(rule['share'])}</td>"
    if tree.classes is None:
        words = rule.get("formula") or significant(rule["prediction"], 4)
        numbers += f"<td>{html.escape(words)}</td>"
    else:
        label = rule["prediction"]
        color = run_colors(loaded).get(label, OTHER)
        name = f"<td class='name'>{dot(color, clean(label))}</td>"
        numbers += f"{name}<td>{percent(rule['confidence'])}</td>"
    return f"<tr>{numbers}<td class='if'>{html.escape(rule['rule'])}</td></tr>"


def rule_with_sums(tree: Tree, conditions: Iterable[Condition]) -> str:
    """Write the conditions on a path, weighted sums by their names."""
    names = sum_names(tree)

    def words(condition: Condition) -> str:
        if not isinstance(condition, ObliqueCondition):
            return condition_text(tree, condition)
        bound = rounded(float(tree.threshold[condition.node]))
        return f"{names[condition.node]} {'≤' if condition.left else '>'} {bound}"

    return " and ".join(filter(None, map(words, conditions))) or "every row"


def sum_names(tree: Tree) -> dict[int, str]:
    """Name the weighted sums of a tree's splits, from the root down."""
    nodes = np.flatnonzero(tree.feature == OBLIQUE)
    nodes = nodes[np.argsort(tree.level[nodes], kind="stable")]
    return {int(node): f"S{place}" for place, node in enumerate(nodes, start=1)}


def sums_list(tree: Tree) -> str:
    """Return HTML of every weighted sum, as ``sum_terms`` writes it."""
    lines = "".join(
        f"<tr><th>{name}</th><td>{sum_terms(tree, node)}</td></tr>"
        for node, name in sum_names(tree).items()
    )
    return (
        '<table class="sums"><caption>Weighted sums; the percentage is a term’s share '
        f"of its sum’s spread</caption>{lines}</table>"
    )


def sum_terms(tree: Tree, node: int) -> str:
    """Return HTML of a weighted sum: its three largest terms, the rest folded away."""
    weights = tree.weights[node]
    shares = term_fractions(tree.features, weights)
    order = [int(j) for j in np.argsort(-shares, kind="stable") if weights[j] != 0]
    terms = [
        f"<span>{'−' if weights[j] < 0 else '+'} {rounded(abs(weights[j]))} × "
        f"{html.escape(clean(tree.features[j].column))} "
        f"<small>{percent(shares[j])}</small></span>"
        for j in order
    ]
    shown, rest = terms[:_TERMS], terms[_TERMS:]
    folded = ""
    if rest:
        share = percent(float(sum(shares[j] for j in order[_TERMS:])))
        more = f"{counted(len(rest), 'smaller term')} ({share})"
        folded = f"<details><summary>{more}</summary>{''.join(rest)}</details>"
    return f'<div class="terms">{"".join(shown)}{folded}</div>'
