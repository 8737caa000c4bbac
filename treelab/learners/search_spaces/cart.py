"""Search spaces of CART's settings."""

from treelab.learners.common.search_space import Preset, Range, Values

PRESETS = {
    "treelab": Preset(
        {
            "max_depth": Range(2, 16),
            "min_samples_leaf": Range(1, 50, log=True),
            "ccp_alpha": Range(0.00001, 0.03, log=True),
            "class_weight": Values((None, "balanced")),
        },
        fixed={"tune": False},
        source="The settings that its own tuning chooses, searched from outside.",
    ),
}
