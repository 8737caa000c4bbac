"""Optimal tree: names, ranges, help and defaults of the settings."""

from dataclasses import dataclass

from treelab.learners.common.settings import (
    LearnerSpec,
    Preset,
    Range,
    Values,
    setting,
    settings_in,
)


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalSettings:
    """What can be set of the search for the best tree."""

    max_depth: int = setting(
        3,
        "Most splits on the way to a leaf; each one more takes far longer.",
        label="Max depth",
        minimum=1,
        maximum=5,
    )
    max_leaf_nodes: int | None = setting(
        None,
        "Most leaves; none: as many as the depth allows.",
        label="Max leaves",
        minimum=2,
        maximum=32,
        choices=(None,),
    )
    min_samples_leaf: int = setting(
        1, "Fewest training rows in a leaf.", label="Min rows per leaf", minimum=1
    )
    n_thresholds: int = setting(
        16,
        "Candidate thresholds of each column, at quantiles of its values.",
        label="Candidate thresholds",
        minimum=1,
        maximum=1000,
    )
    time_limit: float = setting(
        30.0,
        "Seconds until the search of a depth ends with its best tree, maybe unproven.",
        label="Time limit, seconds",
        above=0,
    )


SPEC = LearnerSpec(
    key="optimal",
    title="Optimal tree",
    summary="The tree of a small depth with the fewest training errors, by search.",
    paper="van der Linden, de Weerdt and Demirovic, NeurIPS 2023 (STreeD)",
    classifier="treelab.learners.optimal.estimators:OptimalTreeClassifier",
    regressor="treelab.learners.optimal.estimators:OptimalTreeRegressor",
    settings=settings_in(OptimalSettings),
    cpu_only=True,
)


# Search spaces of the optimal tree's settings.


PRESETS = {
    "treelab": Preset(
        {
            "max_depth": Range(2, 4),
            "min_samples_leaf": Range(1, 50, log=True),
            "n_thresholds": Values((4, 8, 16)),
        },
        source="Around treelab's defaults.",
    )
}
