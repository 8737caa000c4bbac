"""Search spaces of GRANDE's settings."""

from treelab.learners.common.search_space import Preset, Range, Values

PRESETS = {
    "treelab": Preset(
        {
            "depth": Range(3, 6),
            "n_estimators": Values((128, 256, 512)),
            "concentration": Values((1.0, 1.5, 2.0, 3.0, 4.0)),
            "max_deciders": Values((10, 20, 50, None)),
            "entropy_penalty": Values((0.0, 0.001, 0.003, 0.01)),
            "selected_variables": Range(0.5, 1.0),
            "dropout": Values((0.0, 0.25)),
            "learning_rate_index": Range(0.005, 0.1, log=True),
            "learning_rate_values": Range(0.005, 0.1, log=True),
            "learning_rate_leaf": Range(0.005, 0.1, log=True),
            "learning_rate_weights": Range(0.002, 0.05, log=True),
        },
        source="Around treelab's defaults.",
    ),
    "paper": Preset(
        {
            "depth": Values((4, 6)),
            "n_estimators": Values((512, 1024, 2048)),
            "learning_rate_weights": Range(0.0001, 0.1, log=True),
            "learning_rate_index": Range(0.005, 0.2, log=True),
            "learning_rate_values": Range(0.005, 0.2, log=True),
            "learning_rate_leaf": Range(0.005, 0.2, log=True),
            "dropout": Values((0.0, 0.25, 0.5)),
            "selected_variables": Range(0.5, 1.0),
            "data_fraction": Range(0.8, 1.0),
            "loss": Values(("cross_entropy", "focal")),
        },
        fixed={"recipe": "paper", "focal_gamma": 3.0},
        source="The ranges that the tuned values of tables 13 and 14 of Marton et al., "
        "arXiv:2309.17130, span, focal factors of 0 and 3 as losses, without the decay "
        "of learning rates, which the recipe keeps constant; there 250 trials a table.",
    ),
}
