"""Argmin trees: names, ranges, help and defaults of the settings.

Source: Zantedeschi, Kusner and Niculae, "Learning binary decision trees by argmin
differentiation", ICML 2021, arXiv:2010.04627.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from treelab.learners.common.settings import (
    LearnerSpec,
    Preset,
    Range,
    Values,
    class_weight_setting,
    recipe_setting,
    setting,
    settings_in,
)

_EPOCHS_HELP = (
    "Passes over the rows at the first strength, at the latest; each later step, as a "
    "strength, takes an eighth of them."
)
_MLP = ("predictor", ("mlp",))


def _sparse_splits(default: bool, **more) -> Any:
    """Declare the setting of sparse splits."""
    return setting(
        default,
        "Whether splits do without the columns that they can leave out without loss on "
        "validation rows.",
        label="Sparse splits",
        **more,
    )


@dataclass(eq=False, repr=False, kw_only=True)
class TreeSettings:
    """What the trees and the clusterer have in common."""

    depth: int = setting(
        4, "Splits on every path, before pruning.", label="Depth", minimum=1, maximum=8
    )
    pruning_strength: Any = setting(
        (0.0, 3.0, 10.0, 30.0, 60.0, 100.0, 200.0, 300.0, 1000.0),
        "How strongly small trees are preferred (lambda): the rows of a batch whose "
        "path scores sum to less than half of it lose their node. Each strength goes "
        "on from the one before; the slider on Tree moves between them.",
        kind="floats",
        label="Pruning strengths",
        minimum=0,
        paper=(0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0),
    )
    formulation: str = setting(
        "ridge",
        "Cost of activity: the paper's final program, or that of its first version, "
        "where each node learns a preference.",
        choices=("ridge", "preference"),
        paper="preference",
    )
    learning_rate: float = setting(
        0.02,
        "Of quasi-hyperbolic Adam; cut by 10 when the validation loss stays.",
        minimum=0,
        paper=0.001,
    )
    plateau: int = setting(
        10,
        "Epochs without a better validation loss before the learning rate is cut.",
        minimum=1,
        paper=2,
    )
    batch_size: int = setting(512, "Rows in a training step.", minimum=1)
    sparse_splits: bool = _sparse_splits(True, paper=False)

    @property
    def strengths(self) -> np.ndarray:
        """The pruning strengths, ascending, float64 of shape (E,)."""
        return np.atleast_1d(np.asarray(self.pruning_strength, dtype=np.float64))

    @property
    def n_nodes(self) -> int:
        """Splits and leaves of a tree before pruning, T."""
        return 2 ** (self.depth + 1) - 1


@dataclass(eq=False, repr=False, kw_only=True)
class ArgminSettings(TreeSettings):
    """What can be set of a classification or regression tree.

    The paper's values are those of appendix A.3, with the formulation of the first
    version; there strength, depth and predictor are tuned.
    """

    recipe: str = recipe_setting()
    n_restarts: int = setting(
        8,
        "Trees that are trained side by side, from random splits of their own; the "
        "choice is among all of them.",
        label="Restarts",
        minimum=1,
        maximum=64,
        paper=1,
    )
    max_leaf_nodes: int | None = setting(
        None,
        "Leaves of the trees at the most; None sets no limit.",
        label="Max leaves",
        minimum=2,
        choices=(None,),
    )
    selection: str = setting(
        "one_standard_error",
        "Which tree is chosen: the smallest within one standard error of the best "
        "validation score, or that of the best validation loss.",
        choices=("one_standard_error", "best"),
        paper="best",
    )
    even_starts: str = setting(
        "median",
        "What first splits send to either side: half of the rows that reach them, or "
        "those above and below their mean score.",
        choices=("median", "mean"),
        paper="mean",
    )
    split: str = setting(
        "linear",
        "Split score: the weighted sum of the features, or ELU of it.",
        choices=("linear", "elu"),
    )
    predictor: str = setting(
        "leaf",
        "leaf: the tree as drawn, each leaf by its training rows. linear, mlp: a model "
        "on top, which reads how far the row passes each node and which no drawing "
        "shows; tree_ is then refused. auto: linear where it predicts validation rows "
        "better by more than one standard error, else leaf.",
        label="Predictor",
        choices=("leaf", "auto", "linear", "mlp"),
        paper="linear",
    )
    uses_x: bool = setting(
        False,
        "Whether a linear or mlp predictor reads the features as well, which a leaf "
        "cannot.",
        needs=("predictor", ("auto", "linear", "mlp")),
        paper=True,
    )
    n_hidden_layers: int = setting(
        1, "Hidden layers of the mlp.", minimum=1, maximum=5, needs=_MLP
    )
    hidden_size: int = setting(64, "Units of each hidden layer.", minimum=1, needs=_MLP)
    dropout: float = setting(
        0.0,
        "Fraction of hidden units dropped at each training step.",
        minimum=0,
        maximum=0.95,
        needs=_MLP,
    )
    max_epochs: int = setting(200, _EPOCHS_HELP, label="Epochs", minimum=1, paper=100)
    patience: int = setting(
        30,
        "Epochs without a better validation loss, at any strength, before training "
        "ends.",
        minimum=1,
        paper=10,
    )
    class_weight: Any = class_weight_setting(None)

    @property
    def reads_leaf(self) -> bool:
        """Whether leaves predict once a linear predictor has trained the tree."""
        return self.predictor == "leaf"

    @property
    def trains_constants(self) -> bool:
        """Whether training has a constant in each leaf, as clusters do."""
        return self.predictor == "constant"

    @property
    def hidden_sizes(self) -> tuple[int, ...]:
        """Units of each of the predictor's hidden layers."""
        if self.predictor != "mlp":
            return ()
        return (self.hidden_size,) * self.n_hidden_layers


@dataclass(eq=False, repr=False, kw_only=True)
class ClusterSettings(TreeSettings):
    """What can be set of a clustering tree."""

    target_columns: Any = setting(
        None,
        "In which columns the rows of a cluster are alike. All columns, as in k-means; "
        "each column, predicted from the others; or chosen columns, predicted from "
        "the rest.",
        kind="columns",
        values="None, 'each' or sequence of str",
        label="Target columns",
    )
    sparse_splits: bool = _sparse_splits(False)
    init: str = setting(
        "clusters",
        "First splits: those of hierarchical k-means, or random ones.",
        choices=("clusters", "random"),
    )
    max_epochs: int = setting(300, _EPOCHS_HELP, label="Epochs", minimum=1)
    patience: int = setting(
        50, "Epochs without a better validation loss before training ends.", minimum=1
    )

    @property
    def masks_columns(self) -> bool:
        """Whether each column is predicted from the others."""
        return isinstance(self.target_columns, str) and self.target_columns == "each"

    def of_trees(self) -> ArgminSettings:
        """Return the settings of its trees: linear splits, a constant in each leaf."""
        shared = {declared.name for declared in fields(ArgminSettings)}
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name in shared}
        return ArgminSettings(predictor="constant", n_restarts=1, **own)


SPEC = LearnerSpec(
    key="argmin",
    title="Argmin tree",
    summary="A tree that learns which of its nodes to prune.",
    paper="Zantedeschi, Kusner and Niculae, arXiv:2010.04627",
    classifier="treelab.learners.argmin.estimators:ArgminTreeClassifier",
    regressor="treelab.learners.argmin.estimators:ArgminTreeRegressor",
    settings=settings_in(ArgminSettings),
)

# Needs no target, so it is not among the learners that a page offers for one.
CLUSTERS = LearnerSpec(
    key="clusters",
    title="Argmin clusters",
    summary="Clusters of similar rows, found without labels, as a tree.",
    paper="Zantedeschi, Kusner and Niculae, arXiv:2010.04627",
    classifier="treelab.learners.argmin.clustering:ArgminTreeClusterer",
    regressor="treelab.learners.argmin.clustering:ArgminTreeClusterer",
    settings=settings_in(ClusterSettings),
)


# Search spaces of the argmin tree's settings.


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
