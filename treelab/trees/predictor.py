"""NodePredictor: the small model that reads how far a row passes each node."""

from dataclasses import dataclass

import numpy as np

from treelab.trees.tree import frozen

_ACTIVATIONS = {
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "relu": lambda x: np.maximum(x, 0),
}


@dataclass(frozen=True, eq=False)
class NodePredictor:
    """A linear model or a multilayer perceptron on an argmin tree's traversal.

    f_phi(z, x) of eq. 10 in the first version of Zantedeschi, Kusner and Niculae,
    "Learning Binary Decision Trees by Argmin Differentiation", ICML 2021,
    arXiv:2010.04627. ValueError if the layers do not fit each other.
    """

    # ``weight`` of shape (n_out, n_in), ``bias`` of shape (n_out,). The first layer
    # reads the traversal, and behind it, where ``uses_x``, the standardised features.
    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    activation: str = "elu"  # "elu" or "relu": between two layers
    uses_x: bool = False  # whether the features are read as well
    # float64 (n_features,): the features are read as ``(x - x_mean) / x_scale``.
    x_mean: np.ndarray | None = None
    x_scale: np.ndarray | None = None

    def __post_init__(self):
        put = object.__setattr__
        put(self, "layers", tuple((_floats(w), _floats(b)) for w, b in self.layers))
        for name in ("x_mean", "x_scale"):
            if getattr(self, name) is not None:
                put(self, name, _floats(getattr(self, name)))
        put(self, "uses_x", bool(self.uses_x))
        if self.activation not in _ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {tuple(_ACTIVATIONS)}, "
                f"got {self.activation!r}."
            )
        if not self.layers:
            raise ValueError("A predictor needs at least one layer.")
        n_in = self.layers[0][0].shape[-1]
        for i, (weight, bias) in enumerate(self.layers):
            if weight.ndim != 2 or bias.shape != weight.shape[:1]:
                raise ValueError(
                    f"Layer {i} has weights {weight.shape} and biases {bias.shape}; "
                    "expected (n_out, n_in) and (n_out,)."
                )
            if weight.shape[1] != n_in:
                raise ValueError(
                    f"Layer {i} reads {weight.shape[1]} numbers, but gets {n_in}."
                )
            n_in = len(bias)
        for array in (*sum(self.layers, ()), self.x_mean, self.x_scale):
            if array is not None and not np.isfinite(array).all():
                raise ValueError("A predictor must hold finite numbers.")
        if self.uses_x and (self.x_mean is None or self.x_scale is None):
            raise ValueError(
                "A predictor that reads features needs x_mean and x_scale."
            )

    @property
    def n_outputs(self) -> int:
        """Number of logits, or 1 for a value of the target."""
        return len(self.layers[-1][1])

    @property
    def n_inputs(self) -> int:
        """Number of nodes, and of features where they are read."""
        return self.layers[0][0].shape[1]

    def __call__(self, z: np.ndarray, x: np.ndarray | None = None) -> np.ndarray:
        """Return logits or values, float64 (n_rows, n_outputs).

        ``z`` (n_rows, n_nodes) is the traversal of each node, ``x`` (n_rows,
        n_features) are the features, missing values filled; read only where ``uses_x``.
        """
        hidden = np.asarray(z, dtype=np.float64)
        if self.uses_x:
            if x is None:
                raise ValueError("This predictor reads the features as well: pass x.")
            hidden = np.concatenate([hidden, (x - self.x_mean) / self.x_scale], axis=1)
        if hidden.shape[1] != self.n_inputs:
            raise ValueError(
                f"This predictor reads {self.n_inputs} numbers a row, "
                f"got {hidden.shape[1]}."
            )
        for weight, bias in self.layers[:-1]:
            hidden = _ACTIVATIONS[self.activation](hidden @ weight.T + bias)
        weight, bias = self.layers[-1]
        return hidden @ weight.T + bias

    def pack(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Return plain settings and named arrays, from which ``unpack`` rebuilds it."""
        arrays = {name: getattr(self, name) for name in ("x_mean", "x_scale")}
        for k, (weight, bias) in enumerate(self.layers):
            arrays |= {f"weight{k}": weight, f"bias{k}": bias}
        settings = {"activation": self.activation, "uses_x": self.uses_x}
        settings["n_layers"] = len(self.layers)
        return settings, {name: a for name, a in arrays.items() if a is not None}

    @classmethod
    def unpack(cls, settings: dict, arrays: dict[str, np.ndarray]) -> "NodePredictor":
        """Rebuild the predictor; its arrays are taken out of a tree's."""
        layers = range(settings.pop("n_layers"))
        read = [(arrays.pop(f"weight{k}"), arrays.pop(f"bias{k}")) for k in layers]
        scale = {k: arrays.pop(k) for k in ("x_mean", "x_scale") if k in arrays}
        return cls(read, **settings, **scale)  # type: ignore[arg-type]


def _floats(array) -> np.ndarray:
    """Return a read-only float64 copy."""
    return frozen(np.array(array, dtype=np.float64))
