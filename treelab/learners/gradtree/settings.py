"""GradTree: names, ranges, help and defaults of the settings."""

from treelab.learners.common.spec import LearnerSpec, Setting

_EPOCHS_HELP = "Training ends after this many passes over the rows at the latest."

SPEC = LearnerSpec(
    key="gradtree",
    title="GradTree",
    summary="One tree with ordinary splits, all learned together by gradients.",
    paper="Marton et al., AAAI 2024, arXiv:2305.03515",
    classifier="treelab.learners.gradtree.estimators:GradTreeClassifier",
    regressor="treelab.learners.gradtree.estimators:GradTreeRegressor",
    settings=(
        Setting(
            "depth",
            "Depth",
            "Most splits on the way to an answer; shallower trees are trained "
            "beside it, and validation chooses.",
            "int",
            10,
            1,
            12,
        ),
        Setting(
            "n_restarts",
            "Restarts",
            "Trees of each depth and fold, trained side by side; validation picks one.",
            "int",
            8,
            1,
            128,
        ),
        Setting(
            "teacher",
            "Teacher",
            "An ensemble that the tree learns to imitate: half of what it is "
            "taught are the labels, half what the ensemble says.",
            "choice",
            "none",
            choices=("none", "forest", "grande"),
        ),
        Setting("max_epochs", "Epochs", _EPOCHS_HELP, "int", 300, 1, 10_000),
    ),
)
