"""Residuals of both runs against their predictions."""

import numpy as np
import streamlit as st

from pages.cached.predictions import predictions
from pages.compare.pair import Names, Pair, pair_colors
from pages.widgets.page import mode, show_figure
from pages.widgets.words import capital, plain, split_words, with_unit
from treelab.figures.comparison import residuals_figure
from treelab.trees.words import significant

MOST_POINTS = 1500


def show_residuals(pair: Pair, names: Names) -> None:
    """Draw what each run misses, by what it predicts."""
    _, target, weight = pair[0].split.rows("test")
    truth = target.to_numpy(float)
    predicted = [predictions(loaded, "test") for loaded in pair]
    residuals = [truth - own for own in predicted]
    words = []
    for name, own in zip(names, residuals):
        square, mean = (np.average(v, weights=weight) for v in (own**2, own))
        typical = with_unit(pair[0], float(np.sqrt(square)))
        words.append(f"{name} misses by {typical} (mean {significant(mean)})")
    st.markdown(plain(f"Root mean square of the residuals: {'; '.join(words)}."))
    some = np.random.default_rng(0).permutation(len(truth))[:MOST_POINTS]
    ends = _ends(predicted), _ends(residuals)
    shown = zip(
        st.columns(2), pair, names, pair_colors(pair), zip(predicted, residuals)
    )
    for column, loaded, name, color, (x, y) in shown:
        with column:
            st.markdown(f"**{plain(name)}**")
            show_figure(
                residuals_figure(
                    x[some],
                    y[some],
                    ends,
                    loaded.model.target_unit,
                    color=color,
                    mode=mode(),
                ),
                key=f"residuals-{loaded.run.id}",
                alt=f"Residuals of {name} against its predictions.",
            )
    rows = split_words(pair[0], "test")
    sample = f"A sample of {len(some):,} of " if len(some) < len(truth) else ""
    rows = rows if sample else capital(rows)
    st.caption(
        f"{sample}{rows}, both on the same axes. A tree that fits well leaves no "
        "pattern around the line at zero."
    )


def _ends(values: list[np.ndarray]) -> tuple[float, float]:
    """Return the ends of an axis that holds all values."""
    low, high = min(own.min() for own in values), max(own.max() for own in values)
    room = 0.04 * (high - low) or 0.5
    return float(low - room), float(high + room)
