"""Argmin trees: names, ranges, help and defaults of the settings."""

from treelab.learners.common.spec import LearnerSpec, Setting

_EPOCHS_HELP = "Training ends after this many passes over the rows at the latest."

SPEC = LearnerSpec(
    key="argmin",
    title="Argmin tree",
    summary="A tree that learns which of its nodes should live.",
    paper="Zantedeschi, Kusner and Niculae, arXiv:2010.04627",
    classifier="treelab.learners.argmin.estimators:ArgminTreeClassifier",
    regressor="treelab.learners.argmin.estimators:ArgminTreeRegressor",
    settings=(
        Setting(
            "depth",
            "Depth",
            "Splits on every path, before pruning.",
            "int",
            4,
            1,
            8,
        ),
        Setting(
            "pruning_strength",
            "Pruning strengths",
            "How strongly small trees are preferred (lambda); all strengths "
            "train together, the slider on Pruning moves between them.",
            "floats",
            (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0),
            0,
        ),
        Setting(
            "predictor",
            "What answers",
            "leaf: the tree alone, one answer for each leaf. linear, mlp: a "
            "model on top that knows how far the row passes each node.",
            "choice",
            "linear",
            choices=("linear", "mlp", "leaf"),
        ),
        Setting("max_epochs", "Epochs", _EPOCHS_HELP, "int", 200, 1, 10_000),
    ),
)

# Needs no target, so it is not among the learners that a page offers for one.
CLUSTERS = LearnerSpec(
    key="clusters",
    title="Argmin clusters",
    summary="Groups of rows that are alike, found without labels, as a tree.",
    paper="Zantedeschi, Kusner and Niculae, arXiv:2010.04627",
    classifier="treelab.learners.argmin.clustering:ArgminTreeClusterer",
    regressor="treelab.learners.argmin.clustering:ArgminTreeClusterer",
    settings=(
        Setting(
            "depth", "Depth", "Splits on every path, before pruning.", "int", 4, 1, 8
        ),
        Setting(
            "pruning_strength",
            "Pruning strengths",
            "How strongly few clusters are preferred (lambda).",
            "floats",
            (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0),
            0,
        ),
        Setting(
            "target_columns",
            "Alike in",
            "What the rows of a group share. All columns, as in k-means; each column, "
            "told from the others; or chosen columns, told from the rest.",
            "columns",
            None,
        ),
        Setting("max_epochs", "Epochs", _EPOCHS_HELP, "int", 300, 1, 10_000),
    ),
)
