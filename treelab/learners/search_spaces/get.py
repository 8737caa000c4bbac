"""Search spaces of GET's settings."""

from treelab.learners.common.search_space import Preset, Range, Values

PRESETS = {
    "treelab": Preset(
        {
            "max_depth": Range(2, 8),
            "learning_rate": Range(0.005, 0.05, log=True),
            "learning_rate_leaves": Range(0.01, 0.1, log=True),
            "sparse_tolerance": Values((0.0, 0.002, 0.01)),
            "leaves": Values(("constant", "linear")),
        },
        source="Around treelab's defaults.",
    ),
    "paper": Preset(
        {"max_depth": Range(1, 12)},
        fixed={"recipe": "paper"},
        source="The depths from 1 to 12 that the paper of GET tunes by "
        "cross-validation, and nothing else.",
    ),
}
