"""Search spaces of GradTree's settings."""

from treelab.learners.common.search_space import Preset, Range, Values

RATES = (0.005, 0.01, 0.05, 0.1, 0.25)

PRESETS = {
    "treelab": Preset(
        {
            "max_leaf_nodes": Values((8, 16, 32, 64)),
            "n_restarts": Values((8, 24)),
            "n_steps": Values((100, 200, 400)),
            "learning_rate_index": Range(0.005, 0.2, log=True),
            "learning_rate_values": Range(0.003, 0.1, log=True),
            "learning_rate_leaf": Range(0.01, 0.2, log=True),
            "loss": Values(("cross_entropy", "focal", "poly")),
        },
        source="Around treelab's defaults.",
    ),
    "paper": Preset(
        {
            "max_depth": Range(7, 10),
            "learning_rate_index": Values(RATES),
            "learning_rate_values": Values(RATES),
            "learning_rate_leaf": Values((0.005, 0.01, 0.05, 0.1, 0.2)),
            "loss": Values(("cross_entropy", "focal", "poly")),
            "poly_epsilon": Values((2.0, 5.0)),
        },
        fixed={"recipe": "paper"},
        source="The values that occur in table 12 of Marton et al., arXiv:2305.03515; "
        "there a random search of 300 trials a table. The paper's poly terms on top "
        "of the focal loss are not among them.",
    ),
}
