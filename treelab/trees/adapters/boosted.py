"""Boosted trees of another program, whose sum answers, as a Forest."""

from collections.abc import Sequence

from treelab.trees.adapters.forest import Forest
from treelab.trees.tree import Tree


def boosted_forest(
    grown: Sequence[dict],
    features,
    *,
    target: str,
    classes: tuple | None,
    base: Sequence[float],
    output: Sequence[int],
    link: str,
    dtype: str,
) -> Forest:
    """Return trees that are added up, each with a note that it does not answer alone.

    Parameters
    ----------
    grown : sequence of dict
        What a Tree is told of each tree, but its features and target.
    features : sequence of Feature
        Of all trees.
    target : str
    classes : tuple or None
    base, output, link, dtype
        As a Forest takes them.
    """
    n = len(grown)
    trees = []
    for i, (about, k) in enumerate(zip(grown, output)):
        margin = target if link == "identity" else "margin"
        if classes is not None:
            margin = f"margin of {classes[k] if len(classes) > 2 else classes[1]}"
        note = (
            f"Tree {i + 1:,} of {n:,} that are added up: its leaves say what they add "
            f"to {margin}; it does not answer alone."
        )
        trees.append(Tree(features=features, target=margin, notes=(note,), **about))
    return Forest(
        tuple(trees),
        classes,
        target,
        added=True,
        base=tuple(base),
        output=tuple(output),
        link=link,
        dtype=dtype,
    )
