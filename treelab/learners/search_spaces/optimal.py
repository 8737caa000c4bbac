"""Search spaces of the optimal tree's settings."""

from treelab.learners.common.search_space import Preset, Range, Values

PRESETS = {
    "treelab": Preset(
        {
            "max_depth": Range(2, 4),
            "min_samples_leaf": Range(1, 50, log=True),
            "n_thresholds": Values((4, 8, 16)),
        },
        source="Around treelab's defaults.",
    ),
}
