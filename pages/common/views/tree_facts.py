"""The score of a run's tree, and how large it is."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.predictions import split_scores, tree_score
from pages.common.cached.trees import kept_constraints
from pages.common.html import facts_table
from pages.common.words import fitted_words, plain, split_words
from treelab.evaluation.metrics import TITLES, headline, log_loss_words
from treelab.trees.constraints import Constraints
from treelab.trees.tree import Tree
from treelab.trees.words import significant


def show_facts(loaded: LoadedRun, tree: Tree) -> None:
    """Show the score, how the model came about, and how large the tree is."""
    _show_score(loaded, tree)
    fitted = f"Fitted to {fitted_words(loaded)}."
    st.markdown(f"{plain(loaded.run.provenance)} {fitted}".strip())
    sizes = {
        "Leaves": f"{tree.n_leaves:,}",
        "Splits": f"{tree.n_splits:,}",
        "Depth": f"{tree.depth:,}",
        "Features used": f"{len(tree.columns)} of {len(loaded.run.problem.columns)}",
    }
    if loaded.is_ensemble:
        sizes |= {"Trees in the ensemble": f"{loaded.model.n_estimators:,}"}
    st.html(facts_table(sizes))
    _show_constraints(loaded, tree)


def _show_constraints(loaded: LoadedRun, tree: Tree) -> None:
    """Show what was asked of the tree, and whether it holds."""
    asked = Constraints.read(loaded.run.settings.get("constraints"))
    if not asked:
        return
    lines = []
    if asked.monotone_class:
        of = plain(asked.monotone_class)
        lines.append(f"Up and down are of the probability of {of}.")
    for found in kept_constraints(loaded, tree, asked):
        if found.holds:
            icon = ":green[:material/check_circle:]"
            word = f"holds {found.where}"
        else:
            icon = ":red[:material/error:]"
            word = f"does not hold. {plain(found.broken[0])}"
        lines.append(f"{icon} {plain(found.asked)}: {word}")
    for name in ("column_costs", "class_costs"):
        if own := getattr(asked, name):
            said = Constraints(**{name: own}).sentences()
            lines.append(f":material/balance: {plain('; '.join(said))}")
    st.markdown("**Constraints**  \n" + "  \n".join(lines))


def _show_score(loaded: LoadedRun, tree: Tree) -> None:
    """Show the score on test rows, or that clusters have none."""
    if not loaded.has_labels:
        st.metric("Clusters", f"{tree.n_leaves:,}")
        st.caption("No labels are known, so these clusters have no score.")
        return
    scores = split_scores(loaded, "test")
    best = headline(loaded.run.problem.task)
    shown = tree_score(loaded, "test") if loaded.has_predictor else scores[best]
    st.metric(
        f"{TITLES[best]} · {split_words(loaded, 'test')}",
        significant(shown),
        help="Of the whole ensemble." if loaded.is_ensemble else None,
    )
    if loaded.has_predictor:
        st.caption(
            "Of the tree as drawn. With the predictor on top, which makes this run's "
            f"predictions: {significant(scores[best])} {TITLES[best]}.",
            help="A leaf as drawn predicts the majority class, or the mean, of its "
            "training rows. The predictor “leaf” trains a tree for that.",
        )
        return
    others = [
        f"{TITLES[name]} {significant(scores[name])}".replace(" ", "\N{NO-BREAK SPACE}")
        for name in TITLES
        if name in scores and name not in (best, "log_loss")
    ]
    st.caption(" · ".join(others))
    if words := log_loss_words(scores):
        st.caption(
            f"{words[0].upper()}{words[1:]}.",
            help="Mean negative logarithm of the probability that the true class was "
            "given, in nats: lower is better. Class frequencies are those of the "
            "training rows.",
        )
