"""How sure an ensemble may be, and which class it predicts, by rows that it holds out.

Temperature scaling (Guo et al., "On Calibration of Modern Neural Networks", ICML 2017,
arXiv:1706.04599), around the frequencies of the classes instead of equal ones: log-odds
against these are multiplied by one number. 0 predicts the frequencies, 1 the trained
probabilities.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from treelab.learners.common.base import best_weight_power
from treelab.learners.common.intervals import MOVED, quantile_of
from treelab.learners.grande.network import WeightedTreesNetwork
from treelab.ops.losses import log_proba

SCALES = (0.02, 5.0)  # that are searched; 0 itself would forget the classes
LEAST_WEIGHT = 1e-9  # of a class, whose logarithm is taken


@dataclass(frozen=True)
class Calibration:
    """What is done to the logits of every leaf as it is exported.

    Estimator weights sum to one, so it is done to the ensemble's logits.
    """

    scale: float  # multiplies the logits: how sure the ensemble may be
    # (n_classes,): then added to them, so that probabilities are those of the data.
    shift: np.ndarray
    # See ``WeightedTrees.class_weights``.
    decision_weights: np.ndarray | None
    notes: tuple[str, ...] = ()

    def of_leaves(self, value: np.ndarray) -> np.ndarray:
        """Logits (..., C) of leaves as they are exported; one for two classes."""
        if value.shape[-1] == 1:
            return self.scale * value + (self.shift[1:] - self.shift[:1])
        return self.scale * value + self.shift


@dataclass(frozen=True)
class Move:
    """How far all leaves of a predicted quantile move as they are exported."""

    by: float  # standardised
    decision_weights: None = None
    notes: tuple[str, ...] = (MOVED,)

    def of_leaves(self, value: np.ndarray) -> np.ndarray:
        """Values (..., 1) of leaves as they are exported, standardised."""
        return value + self.by


def measured_move(network: WeightedTreesNetwork, level: float) -> Move:
    """Measure how far the quantile of held-out rows is from the one predicted."""
    rows = torch.cat(network.held_out).cpu().numpy()
    predicted = torch.cat(network.valid_outputs(), 1)[0].double().cpu().numpy()
    off = network.rows.target.double().cpu().numpy()[rows] - predicted
    own = network.rows.own_weight
    weight = np.ones(len(off)) if own is None else own[rows]
    return Move(quantile_of(off, weight, level))


def calibrate(
    network: WeightedTreesNetwork,
    class_weights: np.ndarray,
    *,
    shifts: bool,
    votes: np.ndarray | None = None,
) -> Calibration:
    """Measure on held-out rows how sure to be, and which weights choose the class.

    Trained probabilities are those of rows weighted by ``class_weights`` (n_classes,).
    These stay in the choice of the class, as does, where it ``shifts``, a power of
    balanced weights towards rare classes, by macro F1. Where errors have costs the
    ``votes`` (n_classes, n_classes) choose, of probabilities as they are exported.
    """
    target = network.rows.target.cpu().numpy()
    rows = torch.cat(network.held_out).cpu().numpy()
    outputs = torch.cat(network.valid_outputs(), 1)
    log_p = log_proba(outputs).double().cpu().numpy().T  # (n, n_classes)
    trained = np.log(np.maximum(class_weights, LEAST_WEIGHT))
    weight = network.rows.own_weight
    counts = np.bincount(target, weight, minlength=len(trained))
    prior = np.log(np.where(counts > 0, counts, 1) / counts.sum())
    own = None if weight is None else weight[rows]
    power = best_weight_power(log_p, target[rows], -prior, own) if shifts else 0.0
    scale = measured_scale(log_p - trained - prior, target[rows], prior, own)
    shift = prior - scale * (prior + trained)
    if votes is not None:
        return Calibration(scale, shift, votes)
    decisive = -scale * power * prior - shift
    return Calibration(scale, shift, np.exp(decisive - decisive.max()))


def measured_scale(
    log_odds: np.ndarray,
    target: np.ndarray,
    log_prior: np.ndarray,
    weight: np.ndarray | None = None,
) -> float:
    """Return the factor of log-odds with the lowest log loss.

    Parameters
    ----------
    log_odds : ndarray of shape (m, n_classes)
        Logarithms of probabilities of held-out rows, up to a constant a row, less those
        of the classes' frequencies.
    target : int array of shape (m,)
        Class codes.
    log_prior : ndarray of shape (n_classes,)
        Logarithms of the classes' frequencies.
    weight : ndarray of shape (m,) or None, default=None
        Of each row in the loss; None: all count alike.
    """
    rows = np.arange(len(target))

    def loss(log_scale: float) -> float:
        log_p = log_softmax(np.exp(log_scale) * log_odds + log_prior, axis=1)
        return float(np.average(-log_p[rows, target], weights=weight))

    # The loss is convex in the factor, so it has one minimum in its logarithm, too.
    found = minimize_scalar(loss, bounds=np.log(SCALES), method="bounded")
    return float(np.exp(found.x))
