"""The learners by key, and the few settings that matter most for each.

Imports no learner, so a page can list them without loading torch.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Setting:
    """One setting of a learner, as a form shows it.

    ``kind`` is "int", "float", "choice", "floats" (a sequence of numbers) or "columns"
    (None for all, "each" for each from the others, or names of the table's columns);
    ``minimum`` and ``maximum`` are inclusive. A number whose default is "auto" is left
    to the learner unless given. ``tasks`` are those that know it.
    """

    name: str
    label: str
    help: str
    kind: str
    default: Any
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple = ()
    tasks: tuple[str, ...] = ("binary", "multiclass", "regression")


@dataclass(frozen=True)
class LearnerSpec:
    """A learner: what it is called, where it lives, what can be set.

    ``single_tree`` says whether one tree alone is the model.
    """

    key: str
    title: str
    summary: str
    paper: str
    classifier: str
    regressor: str
    settings: tuple[Setting, ...]
    single_tree: bool = True

    def settings_of(self, task: str) -> tuple[Setting, ...]:
        """Settings that the learner knows for a task."""
        return tuple(setting for setting in self.settings if task in setting.tasks)

    def defaults(self, task: str) -> dict[str, Any]:
        """Settings of a task by name, each at its default."""
        return {setting.name: setting.default for setting in self.settings_of(task)}


IMPORTED = "imported"  # in the place of a learner: the model came from elsewhere

_EPOCHS_HELP = "Training ends after this many passes over the rows at the latest."

LEARNERS: dict[str, LearnerSpec] = {
    spec.key: spec
    for spec in (
        LearnerSpec(
            key="cart",
            title="CART",
            summary="The greedy tree: one split after another, never revised.",
            paper="Breiman et al., 1984",
            classifier="treelab.learners.cart.estimators:CartClassifier",
            regressor="treelab.learners.cart.estimators:CartRegressor",
            settings=(
                Setting(
                    "depth",
                    "Depth",
                    "Most splits on the way to an answer (max_depth).",
                    "int",
                    6,
                    1,
                    30,
                ),
                Setting(
                    "min_leaf_rows",
                    "Rows a leaf",
                    "Fewest training rows behind an answer (min_samples_leaf).",
                    "int",
                    1,
                    1,
                    10_000,
                ),
            ),
        ),
        LearnerSpec(
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
                    "Trees of each depth and fold, trained side by side; validation "
                    "picks one.",
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
        ),
        LearnerSpec(
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
                Setting(
                    "depth", "Depth", "Splits on every path of a tree.", "int", 5, 1, 10
                ),
                Setting("max_epochs", "Epochs", _EPOCHS_HELP, "int", 60, 1, 10_000),
            ),
        ),
        LearnerSpec(
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
        ),
        LearnerSpec(
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
        ),
    )
}

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


def find_spec(key: str) -> LearnerSpec | None:
    """Return what is known of a run's learner; None for a model from elsewhere.

    Raises
    ------
    ValueError
        For an unknown key, listing the learners there are.
    """
    if key == IMPORTED:
        return None
    if key == CLUSTERS.key:
        return CLUSTERS
    if key not in LEARNERS:
        raise ValueError(f"There is no learner {key!r}; choose {', '.join(LEARNERS)}.")
    return LEARNERS[key]


def learner_title(key: str) -> str:
    """Return what a learner is called, or "Imported" for a model from elsewhere."""
    spec = find_spec(key)
    return "Imported" if spec is None else spec.title


def make_estimator(
    key: str, task: str, settings: dict, *, random_state=None, device: str = "auto"
):
    """Build an untrained estimator from a learner's key and the settings given.

    Parameters
    ----------
    key : str
        A key of ``LEARNERS``, or that of ``CLUSTERS``.
    task : {"binary", "multiclass", "regression"}
    settings : dict
        Any of the estimator's parameters by name; the rest keep their defaults.

    Raises
    ------
    ValueError
        For an unknown learner or setting, listing those there are.
    """
    spec = find_spec(key)
    if spec is None:
        raise ValueError("A model from elsewhere is not trained here.")
    module, name = (spec.regressor if task == "regression" else spec.classifier).split(
        ":"
    )
    estimator = getattr(import_module(module), name)(
        random_state=random_state, device=device
    )
    unknown = sorted(set(settings) - set(estimator.get_params()))
    if unknown:
        known = ", ".join(sorted(estimator.get_params()))
        raise ValueError(f"{spec.title} has no setting {unknown[0]!r}; it has {known}.")
    return estimator.set_params(**settings)
