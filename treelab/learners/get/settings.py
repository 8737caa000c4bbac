"""GET: names, ranges, help and defaults of the settings."""

from treelab.learners.common.spec import LearnerSpec, Setting

SPEC = LearnerSpec(
    key="get",
    title="GET",
    summary="One tree whose splits weigh several columns at once.",
    paper="Mao and Cao, 2024, arXiv:2411.17003",
    classifier="treelab.learners.get.estimators:GetClassifier",
    regressor="treelab.learners.get.estimators:GetRegressor",
    settings=(
        Setting(
            "depth",
            "Depth",
            "Most splits on the way to an answer; auto: as many as the rows "
            "allow. Validation prunes.",
            "int",
            "auto",
            1,
            12,
        ),
        Setting(
            "budget",
            "Budget",
            "How long to search: standard takes about ten times as long as "
            "quick and is a little better, thorough longer still.",
            "choice",
            "quick",
            choices=("quick", "standard", "thorough"),
        ),
        Setting(
            "n_starts",
            "Starts",
            "Trees trained side by side; the best one is kept.",
            "int",
            10,
            1,
            64,
        ),
        Setting(
            "leaves",
            "Leaves",
            "What a leaf answers: one value, or a linear formula.",
            "choice",
            "constant",
            choices=("constant", "linear"),
            tasks=("regression",),
        ),
    ),
)
