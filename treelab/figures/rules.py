"""A tree's rules as HTML; weighted sums are named once and written out below."""

import html
from collections.abc import Iterable

import numpy as np

from treelab.figures.html import dot
from treelab.trees.colors import OTHER
from treelab.trees.text import (
    Condition,
    ObliqueCondition,
    bound_text,
    condition_text,
    leaf_conditions,
    target_number,
    target_title,
    to_rules,
    written_terms,
)
from treelab.trees.tree import OBLIQUE, Tree
from treelab.trees.words import clean, counted, percent, significant

_FEW = 2  # rows of a leaf that are so few that the rule is marked
_TERMS = 3  # of a sum, or of many categories, that are not folded away
_LONGEST = 400  # characters of a rule that is written whole


def rules_table(tree: Tree, colors: dict) -> str:
    """Return HTML of a tree's rules, one a leaf, and of its weighted sums.

    The tree has the rows that it was fitted to. A class that has no colour is grey.
    """
    has_sums = bool((tree.feature == OBLIQUE).any())
    found = to_rules(tree, most=_TERMS if has_sums else None)
    is_long = found["rule"].str.len() > _LONGEST
    if is_long.any():
        found["rule"] = found["rule"].mask(is_long, to_rules(tree, most=_TERMS)["rule"])
    if has_sums:
        of_leaf = dict(leaf_conditions(tree))
        found["rule"] = [rule_with_sums(tree, of_leaf[leaf]) for leaf in found["leaf"]]
    lines = "".join(_line(tree, colors, rule) for rule in found.to_dict("records"))
    target = clean(tree.target if tree.classes is not None else target_title(tree))
    sure = "" if tree.classes is None else "<th>confidence</th>"
    weight = "" if tree.weight is None else "<th>weight</th>"
    name = f"<th class='name'>{html.escape(target)}</th>"
    head = f"<th>rows</th><th>share</th>{weight}{name}{sure}<th>if</th>"
    table = f'<table class="rules"><thead><tr>{head}</tr></thead>{lines}</table>'
    # A region of its own, which scrolls, is reached by the keyboard as well.
    region = '<div class="scrolled" tabindex="0" role="region" aria-label='
    sums = ""
    if has_sums:
        sums = f'{region}"Weighted sums">{sums_list(tree)}</div>'
    return f'{region}"Rules">{table}</div>{sums}'


def _line(tree: Tree, colors: dict, rule: dict) -> str:
    """Return HTML of one rule: its numbers, then its words."""
    n_rows = rule["n_rows"]
    rows = f"{n_rows:,}"
    if n_rows <= _FEW:
        rows = f"<mark>{counted(n_rows, 'row')}</mark>"
    weight = ""
    if tree.weight is not None:
        weight = f"<td>{significant(rule['weight'])}</td>"
    numbers = f"<td>{rows}</td><td>{percent(rule['share'], even=True)}</td>{weight}"
    if tree.classes is None:
        value = rule["prediction"]
        words = rule.get("formula") or target_number(tree, value, 4)
        numbers += f"<td>{html.escape(words)}</td>"
    else:
        label = rule["prediction"]
        name = dot(colors.get(label, OTHER), clean(label))
        sure = percent(rule["confidence"], even=True)
        numbers += f"<td class='name'>{name}</td><td>{sure}</td>"
    return f"<tr>{numbers}<td class='if'>{html.escape(rule['rule'])}</td></tr>"


def rule_with_sums(tree: Tree, conditions: Iterable[Condition]) -> str:
    """Write the conditions on a path, weighted sums by their names."""
    names = sum_names(tree)

    def words(condition: Condition) -> str:
        if not isinstance(condition, ObliqueCondition):
            return condition_text(tree, condition)
        bound = bound_text(tree, condition.node)
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
    assert tree.weights is not None, "only a sum has terms"
    terms = written_terms(tree.features, tree.weights[node])
    spans = [
        f"<span>{'−' if term.weight < 0 else '+'} {term.size} × "
        f"{html.escape(term.name())} <small>{percent(term.fraction)}</small></span>"
        for term in terms
    ]
    shown, rest = spans[:_TERMS], spans[_TERMS:]
    folded = ""
    if rest:
        share = percent(sum(term.fraction for term in terms[_TERMS:]))
        more = f"{counted(len(rest), 'smaller term')} ({share})"
        folded = f"<details><summary>{more}</summary>{''.join(rest)}</details>"
    return f'<div class="terms">{"".join(shown)}{folded}</div>'
