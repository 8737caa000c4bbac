"""GRANDE's trees in the user's own columns and units."""

import torch

from treelab.data.encoding.table_encoder import TableEncoder
from treelab.learners.grande.fold_encoding import FoldEncoder
from treelab.learners.grande.network import WeightedTreesNetwork
from treelab.learners.grande.objective import Objective
from treelab.ops.select import chosen_split
from treelab.trees.ensemble import WeightedTrees


@torch.no_grad()
def export_ensemble(
    network: WeightedTreesNetwork,
    encoder: TableEncoder | FoldEncoder,
    objective: Objective,
    classes: tuple | None,
) -> WeightedTrees:
    """Rewrite the network's trees in the user's columns and units.

    Parameters
    ----------
    network : WeightedTreesNetwork
    encoder : TableEncoder or FoldEncoder
        Encoded the rows that the network was trained on.
    objective : Objective
        Brings the leaves' raw outputs to the unit of the target.
    classes : tuple or None
        The caller's labels; None for regression.
    """
    columns = network.columns
    _, feature, threshold = chosen_split(
        network.logits.flatten(0, 1),
        network.threshold.flatten(0, 1),
        None if columns is None else columns.flatten(0, 1),
    )
    tested = feature.cpu().numpy()  # (E, N)
    raw, missing_left = encoder.axis_splits(
        tested.ravel(), threshold.cpu().numpy().ravel()
    )
    leaf = network.leaves().double().cpu().numpy()  # (E, L, C + 1)
    return WeightedTrees(
        encoder.features_,
        tested,
        raw.reshape(tested.shape),
        missing_left.reshape(tested.shape),
        objective.leaf_values(leaf[..., :-1]),
        leaf[..., -1],
        classes=classes,
        class_weights=objective.decision_weights,
        weighting=network.weighting,
        max_deciders=network.max_deciders,
    )
