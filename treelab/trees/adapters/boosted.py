"""Boosted trees of another program, which are added up, as a Forest."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from treelab.trees.adapters.forest import Forest
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


def boosted_forest(
    grown: Sequence[dict],
    features: Iterable[Feature],
    *,
    target: str,
    classes: tuple | None,
    base: Sequence[float],
    output: Sequence[int],
    link: str,
    dtype: str,
) -> Forest:
    """Return trees that are added up, each with a note that it is one of many.

    Parameters
    ----------
    grown : sequence of dict
        Arguments of ``Tree`` for each tree, but its features, target and notes.
    features : iterable of Feature
        Of all trees.
    target : str
    classes : tuple or None
    base, output, link, dtype
        As a Forest takes them.
    """
    n = len(grown)
    shared = tuple(features)
    trees = []
    for i, (arguments, k) in enumerate(zip(grown, output)):
        margin = target if link == "identity" else "margin"
        if classes is not None:
            margin = f"margin of {classes[k] if len(classes) > 2 else classes[1]}"
        note = (
            f"Tree {i + 1:,} of {n:,} that are added up: its leaves hold what they add "
            f"to {margin}; it does not predict alone."
        )
        trees.append(Tree(features=shared, target=margin, notes=(note,), **arguments))
    return Forest(
        tuple(trees),
        classes,
        target,
        is_sum=True,
        base=tuple(base),
        output=tuple(output),
        link=link,
        dtype=dtype,
    )


def boosted_model(
    grown: Sequence[dict],
    features: Sequence[Feature],
    *,
    notes: tuple[str, ...] = (),
    **summed,
) -> Tree | Forest:
    """Return a Forest, or where there is one tree, a Tree that predicts alone.

    Parameters
    ----------
    grown, features
        As ``boosted_forest`` takes them.
    notes : tuple of str
        Sentences that must be shown with it.
    **summed
        What else ``boosted_forest`` takes.
    """
    if len(grown) > 1:
        forest = boosted_forest(grown, features, **summed)
        return replace(forest, notes=notes)
    (arguments,), classes = grown, summed["classes"]
    dtype, link = summed["dtype"], summed["link"]
    sums = np.array(summed["base"][0], dtype) + arguments["value"].astype(dtype)
    value = sums.astype(np.float64)  # (n_nodes, 1)
    if link == "logistic":
        value = 1 / (1 + np.exp(-value))
        if classes is not None:
            value = np.column_stack([1 - value, value])
    elif link == "exp":
        value = np.exp(value)
    shown = {"classes": classes, "target": summed["target"], "notes": notes}
    return Tree(tuple(features), **arguments | {"value": value}, **shown)
