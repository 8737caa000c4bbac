"""Search spaces of the argmin tree's settings."""

from treelab.learners.common.search_space import Preset, Range, Values

PRESETS = {
    "treelab": Preset(
        {
            "depth": Range(2, 6),
            "split": Values(("linear", "elu")),
            "learning_rate": Range(0.001, 0.03, log=True),
        },
        source="Around treelab's defaults; each trial trains all pruning strengths.",
    ),
    "paper": Preset(
        {
            "depth": Range(2, 6),
            "pruning_strength": Range(0.001, 1000.0, log=True),
            "n_hidden_layers": Range(2, 5),
            "dropout": Range(0.0, 0.5),
            "split": Values(("linear", "elu")),
        },
        fixed={"recipe": "paper", "predictor": "mlp"},
        source="Appendix A.3 of Zantedeschi et al., ICLR 2021 submission; there 100 "
        "trials.",
    ),
}
