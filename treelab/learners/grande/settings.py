"""GRANDE: names, ranges, help and defaults of the settings."""

from treelab.learners.common.spec import LearnerSpec, Setting

_EPOCHS_HELP = "Training ends after this many passes over the rows at the latest."

SPEC = LearnerSpec(
    key="grande",
    title="GRANDE",
    summary="Many small trees; for each row the sure ones weigh more.",
    paper="Marton et al., ICLR 2024, arXiv:2309.17130",
    classifier="treelab.learners.grande.estimators:GrandeClassifier",
    regressor="treelab.learners.grande.estimators:GrandeRegressor",
    single_tree=False,
    settings=(
        Setting(
            "n_estimators",
            "Estimators",
            "Small trees in the ensemble.",
            "int",
            512,
            2,
            4096,
        ),
        Setting("depth", "Depth", "Splits on every path of a tree.", "int", 5, 1, 10),
        Setting("max_epochs", "Epochs", _EPOCHS_HELP, "int", 60, 1, 10_000),
    ),
)
