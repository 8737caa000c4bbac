"""How long a step of each operator takes, beside its dense formulation."""

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
from entmax import entmax15
from torch import Generator, Tensor, float32, full, nn, randn
from torch.nn import functional

from treelab.data.builtin import BUILTIN
from treelab.data.encoding import TableEncoder
from treelab.data.problem import make_problem
from treelab.data.reading.read_table import read_table
from treelab.learners.argmin.estimators import ArgminTreeClassifier
from treelab.learners.grande.settings import GrandeSettings
from treelab.learners.grande.weighting import entropy, weighted_prediction
from treelab.ops.activity import ridge_traversal
from treelab.ops.axis_trees import axis_trees
from treelab.ops.decide import decide
from treelab.ops.oblique import oblique_margin, soft_route
from treelab.runs.store.run_store import RunStore
from treelab.training.device import device_name, resolve_device
from treelab.training.gradients import Gradients
from treelab.trees.logits import WEIGHTINGS


def machine() -> str:
    """Name of the processor and the number of its cores that may be used."""
    name = platform.processor() or platform.machine()
    listed = Path("/proc/cpuinfo")
    if listed.is_file():
        for line in listed.read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    return f"{name}, {os.cpu_count()} cores"


def median_seconds(
    step: Callable[[], object],
    n_runs: int,
    device: str = "cpu",
    *,
    at_least: float = 0.0,
) -> float:
    """Run a step once to warm up, then return the median seconds of ``n_runs`` runs.

    Of more runs where these take less than ``at_least`` seconds together.
    """
    return medians([step], n_runs, device, at_least=at_least)[0]


def medians(
    steps: Sequence[Callable[[], object]],
    n_runs: int,
    device: str = "cpu",
    *,
    at_least: float = 0.0,
) -> list[float]:
    """Time several steps in turns, so that a slow moment touches all of them.

    Parameters
    ----------
    steps : sequence of callable
    n_runs : int
        Runs of each that count, at least; one more warms it up.
    device : str, default="cpu"
        Waited for before and after each run.
    at_least : float, default=0.0
        Seconds that all runs that count take together, at least: the median of a few
        short runs is that of a moment.

    Returns
    -------
    list of float
        Median seconds of each.
    """
    turns: list[list[float]] = []
    total = 0.0
    while len(turns) <= n_runs or total < at_least:
        taken = []
        for step in steps:
            _finish(device)
            started = time.perf_counter()
            step()
            _finish(device)
            taken.append(time.perf_counter() - started)
        if turns:  # the first one warms up
            total += sum(taken)
        turns.append(taken)
    return [float(seconds) for seconds in np.median(turns[1:], axis=0)]


def _finish(device: str) -> None:
    """Wait until the device is idle."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()


# Hard trees as published code writes them: sums over leaf paths, by autograd.
#
# The yardstick of the speed benchmark. It builds tensors of size ``E * N * F * B`` and
# ``E * L * D * B``, as the formulas in GradTree (arXiv:2305.03515) and GRANDE
# (arXiv:2309.17130) read when they are typed in one to one.


def dense_axis_trees(
    x: Tensor,
    logits: Tensor,
    threshold: Tensor,
    leaf_value: Tensor,
    columns: Tensor | None = None,
    soft: str = "logistic",
) -> Tensor:
    """Raw output of each tree for each row; shapes as in ``ops.axis_trees``.

    ``g(x) = sum_l lambda_l prod_j (p S + (1 - p) (1 - S))``: equations 2 and 3 of
    arXiv:2309.17130.
    """
    choice = entmax15(logits, dim=-1)
    hard = functional.one_hot(choice.argmax(-1), logits.shape[-1]).to(choice.dtype)
    choice = hard.detach() + (choice - choice.detach())  # (E, N, K)
    offered = x[None].expand(len(logits), -1, -1)
    if columns is not None:
        offered = x[:, columns].transpose(0, 1)  # (E, B, K)
    bound = torch.einsum("enk,enk->en", choice, threshold)
    value = torch.einsum("enk,ebk->enb", choice, offered)
    soft_left = decide(bound[..., None] - value, soft=soft, hard=False)
    hard_left = (soft_left >= 0.5).to(soft_left.dtype)
    left = hard_left.detach() + (soft_left - soft_left.detach())
    split, goes_left = _paths(leaf_value.shape[1], logits.device)  # (L, D)
    decision = left[:, split]  # (E, L, D, B)
    goes_left = goes_left[..., None]
    factor = goes_left * decision + (1 - goes_left) * (1 - decision)
    return torch.einsum("elb,elc->ecb", factor.prod(2), leaf_value)


def _paths(n_leaves: int, device) -> tuple[Tensor, Tensor]:
    """Splits (L, D) on the decision path to each leaf, and 1 where it goes left."""
    depth = n_leaves.bit_length() - 1
    node = torch.arange(n_leaves, device=device) + n_leaves - 1
    splits, goes_left = [], []
    for _ in range(depth):
        goes_left.append((node % 2).float())
        node = (node - 1) // 2
        splits.append(node)
    return torch.stack(splits[::-1], 1), torch.stack(goes_left[::-1], 1)


def table_rows(steps: int) -> list[dict]:
    """Time each step, print a line for it and return the rows to save."""
    rows = []
    with TemporaryDirectory() as folder, table_steps(Path(folder)) as made:
        for name, step in made.items():
            taken = 1000 * median_seconds(step, steps)
            rows.append({"step": name, "auto_ms": taken})
            print(f"{name}: {taken:.0f} ms")
    return rows


@contextmanager
def table_steps(folder: Path) -> Iterator[dict[str, Callable[[], object]]]:
    """Yield the steps by name; what they need is written to an empty folder."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(50_000, 9)).round(3))
    words = {f"w{j}": rng.choice([*"abc"], 50_000) for j in range(6)}
    content = table.assign(**words).to_csv(index=False).encode()

    many = pd.DataFrame({"word": rng.integers(0, 10_000, 30_000).astype(str)})
    target = rng.integers(0, 2, len(many))

    wide = pd.DataFrame(rng.normal(size=(40_000, 60)).round(3))
    encoder = TableEncoder("quantile", task="binary")
    encoder.fit_transform(wide, rng.integers(0, 2, len(wide)))
    feature = rng.integers(0, 60, 1024 * 31)
    threshold = rng.normal(size=len(feature)).astype(np.float32)

    store = RunStore(folder)
    iris = BUILTIN["iris"]
    frame = iris.load()
    problem = make_problem(
        frame, iris.target, table_id=store.add_table(frame, "iris"), table_name="iris"
    )
    for _ in range(100):
        store.create("cart", {}, problem)

    yield {
        "read 50,000 rows of 15 columns": lambda: read_table(content, "t.csv"),
        "encode 10,000 categories in 30,000 rows": lambda: TableEncoder(
            task="binary", random_state=0
        ).fit_transform(many, target),
        "place 31,744 splits in 40,000 rows": lambda: encoder.axis_splits(
            feature, threshold
        ),
        "list 100 runs": store.runs,
    }


# GET's step as a formula typed in one to one, and how long ours takes beside it.
#
# The yardstick walks leaf by leaf: it gathers the decisions above a leaf, stacks them
# and takes their product (arXiv:2411.17003, the soft tree), one start after another.


SHAPE = {"n_starts": 10, "depth": 6, "n_features": 10, "n_rows": 4000}


def dense_oblique_tree(
    x: Tensor, weights: Tensor, threshold: Tensor, scale_factor: Tensor, leaf: Tensor
) -> Tensor:
    """Raw output (B,) of one soft oblique tree for each row.

    Shapes are (F, B), (N, F), (N,), (1, 1) and (L,).
    """
    left = torch.sigmoid(scale_factor * (threshold[:, None] - weights @ x))
    reach = []
    for number in range(len(leaf)):
        node, path = number + len(threshold), []
        while node > 0:
            parent = (node - 1) // 2
            path.append(left[parent] if node % 2 else 1 - left[parent])
            node = parent
        reach.append(torch.stack(path).prod(0))
    return leaf @ torch.stack(reach)


def oblique_steps(
    n_starts: int, depth: int, n_features: int, n_rows: int, device: str = "cpu"
) -> dict[str, Callable[[], None]]:
    """Steps (forward, backward, AdamW) by the name of their formulation.

    "dense" trains one start; "ours" trains all starts.
    """
    draw: dict[str, Any] = {
        "generator": torch.Generator(device).manual_seed(0),
        "device": device,
    }
    x = torch.rand(n_features, n_rows, **draw)
    y = torch.randn(n_rows, **draw)
    n_splits = 2**depth - 1
    weights = torch.randn(n_starts, n_splits, n_features, **draw).requires_grad_()
    threshold = torch.zeros(n_starts, n_splits, device=device).requires_grad_()
    leaf = torch.randn(n_starts, n_splits + 1, 1, **draw).requires_grad_()
    scale_factor = torch.full((n_starts, 1, 1), 20.0, device=device)
    optimizer = torch.optim.AdamW([weights, threshold, leaf])

    def dense() -> Tensor:
        output = dense_oblique_tree(
            x, weights[0], threshold[0], scale_factor[0], leaf[0, :, 0]
        )
        return (output - y).square().mean()

    def ours() -> Tensor:
        margin = oblique_margin(x, weights, threshold)
        output = soft_route(margin, scale_factor, leaf)[:, 0]
        return (output - y).square().mean(1).sum()

    return {
        "dense": step_of(dense, optimizer, is_captured=False),
        "ours": step_of(ours, optimizer),
    }


# name, trees, depth, rows
SOLVER_STEPS = (
    ("traversal, one tree", 1, 6, 512),
    ("traversal, 24 trees", 24, 6, 512),
    ("traversal, one deep tree", 1, 10, 4096),
)
SOLVER_RUNS = 5  # a solve is short: so many for every step that is asked for
RESTARTS = 16
EPOCHS, ROWS, FEATURES, DEPTH = 20, 5000, 20, 5
FITS = 3


def solver_rows(steps: int, device: str = "cpu") -> list[dict]:
    """Time the solver, then the training of one tree and of 16; print both.

    The solver's medians are taken of `SOLVER_RUNS` times as many runs as ``steps``.
    """
    names = [name for name, *_ in SOLVER_STEPS]
    solves = [solver_step(e, d, b, device) for _, e, d, b in SOLVER_STEPS]
    seconds = dict(zip(names, medians(solves, SOLVER_RUNS * steps, device)))
    rows: list[dict] = []
    for name, n_trees, depth, n_rows in SOLVER_STEPS:
        row = {
            "step": name,
            "shape": [n_trees, depth, n_rows],
            "auto_ms": 1000 * seconds[name],
        }
        line = f"{name}, E={n_trees}, D={depth}, B={n_rows}: {row['auto_ms']:.2f} ms"
        if n_trees > 1:
            one_tree = name.split(",")[0] + ", one tree"
            row["times_one"] = seconds[name] / seconds[one_tree]
            line += f" ({row['times_one']:.1f} times one tree)"
        rows.append(row)
        print(line)
    fits = [argmin_fit(n_restarts, device=device) for n_restarts in (1, RESTARTS)]
    one, many = medians(fits, FITS, device)
    for name, taken in (("1 restart", one), (f"{RESTARTS} restarts", many)):
        row = {"step": f"argmin fit, {name}", "auto_ms": 1000 * taken / EPOCHS}
        rows.append(row | {"times_one": taken / one})
        print(
            f"argmin fit, {name}, D={DEPTH}, {ROWS:,} rows: {row['auto_ms']:.1f} ms an "
            f"epoch ({taken / one:.1f} times one restart)"
        )
    return rows


def solver_step(
    n_trees: int, depth: int, n_rows: int, device: str = "cpu"
) -> Callable[[], None]:
    """Return a function that solves once, forward and backward, down to z.

    Every tree has split scores of its own, as in training.
    """
    generator = Generator(device).manual_seed(0)
    shape = (n_trees, 2**depth - 1, n_rows)
    score = randn(shape, generator=generator, device=device, dtype=float32)
    strength = full((n_trees,), 10.0, device=device)
    start = score.requires_grad_()

    def step() -> None:
        start.grad = None
        ridge_traversal(start, strength)[0].sum().backward()

    return step


def argmin_fit(
    n_restarts: int, n_rows: int = ROWS, epochs: int = EPOCHS, device: str = "cpu"
) -> Callable[[], None]:
    """Return a function that trains trees side by side, export included."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows * 5 // 4, FEATURES))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)

    def fit() -> None:
        model = ArgminTreeClassifier(
            depth=DEPTH,
            pruning_strength=10.0,
            n_restarts=n_restarts,
            max_epochs=epochs,
            sparse_splits=False,
            patience=epochs,
            random_state=0,
            device=device,
        )
        rest = slice(n_rows, None)
        model.fit(X[:n_rows], y[:n_rows], X_valid=X[rest], y_valid=y[rest])

    return fit


AT_LEAST = 1.0  # seconds that the runs of a step take together
DEEPEST_DENSE = 6  # deeper, the dense sum over paths wants minutes and gigabytes


@dataclass(frozen=True)
class AxisTreesStep:
    """A step of trees with ordinary splits: forward, backward and Adam."""

    name: str
    # E, D, F, B and C.
    n_trees: int
    depth: int
    n_features: int
    n_offered: int  # features that each tree may use
    n_rows: int
    n_outputs: int
    soft: str  # see `decide`

    def make(
        self, backend: str, device: str = "cpu", weighting: str | None = None
    ) -> Callable[[], None]:
        """Return a function that does the step.

        ``backend`` is "dense" or one of `axis_trees`. With a ``weighting`` the last
        output is a leaf's weight, and `weighted_prediction` mixes the trees; with an
        entmax as our recipe trains: few trees, half of the loss of half as many, and
        their entropy penalised.
        """
        most = GrandeSettings.max_deciders if weighting == "entmax15" else None
        few = None if most is None else torch.full((1,), most // 2, device=device)
        rng: dict[str, Any] = {
            "generator": torch.Generator(device).manual_seed(0),
            "device": device,
        }
        shape = (self.n_trees, 2**self.depth - 1, self.n_offered)
        logits = (0.5 * torch.randn(shape, **rng)).requires_grad_()
        threshold = torch.randn(shape, **rng).requires_grad_()
        leaf_shape = (self.n_trees, 2**self.depth, self.n_outputs)
        leaf = torch.randn(leaf_shape, **rng).requires_grad_()
        x = torch.randn(self.n_rows, self.n_features, **rng)
        columns = None
        if self.n_offered < self.n_features:
            order = torch.rand(self.n_trees, self.n_features, **rng).argsort(1)
            columns = order[:, : self.n_offered].contiguous()
        optimizer = torch.optim.Adam([logits, threshold, leaf], fused=True)
        formulation: Callable[..., Tensor] = dense_axis_trees
        if backend != "dense":
            formulation = partial(axis_trees, backend=backend)

        def loss() -> Tensor:
            output = formulation(
                x, logits, threshold, leaf, columns=columns, soft=self.soft
            )
            if weighting is not None:
                mix = partial(
                    weighted_prediction,
                    output[:, :-1],
                    output[:, -1],
                    weighting=weighting,
                )
                output, weights = mix(max_deciders=most)
            found = output.square().mean()
            if most is not None:
                by_fewer, _ = mix(max_deciders=most, fewer=few)
                penalty = GrandeSettings.entropy_penalty * entropy(weights)
                found = (found + by_fewer.square().mean()) / 2 + penalty.mean()
            return found

        is_captured = backend != "dense"  # that one makes its paths in Python
        return step_of(loss, optimizer, is_captured=is_captured)


class _Trained(nn.Module):
    """What an optimizer moves, and its loss, as the training loop wants them."""

    def __init__(self, parameters: list, loss: Callable, *, is_captured: bool):
        super().__init__()
        self.moved = nn.ParameterList(parameters)
        self.loss, self.is_captured = loss, is_captured

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Return the loss (1,), of all rows whatever these are."""
        return self.loss()[None]


def step_of(
    loss: Callable[[], Tensor],
    optimizer: torch.optim.Optimizer,
    *,
    is_captured: bool = True,
) -> Callable[[], None]:
    """Return a step of training: forward, backward, optimizer; captured on a GPU."""
    parameters = optimizer.param_groups[0]["params"]
    gradients = Gradients(_Trained(parameters, loss, is_captured=is_captured))
    rows = torch.zeros(1, dtype=torch.long, device=parameters[0].device)

    def step() -> None:
        gradients(rows)
        optimizer.step()

    return step


STEPS = (
    AxisTreesStep("GRANDE step", 1024, 5, 30, 24, 256, 2, "softsign"),
    AxisTreesStep("GRANDE step", 1024, 6, 30, 24, 256, 2, "softsign"),
    AxisTreesStep("GradTree step", 16, 10, 30, 30, 256, 1, "logistic"),
    AxisTreesStep("GradTree step, 16 restarts", 16, 6, 30, 30, 256, 1, "logistic"),
    AxisTreesStep("GradTree step, 1 restart", 1, 6, 30, 30, 256, 1, "logistic"),
)


def report(*, steps: int, device: str = "cpu", out: Path | None = None) -> int:
    """Time every step with every formulation and print a line for each; return 0.

    A median is taken of ``steps`` runs at least, on "auto", "cpu", "cuda" or "cuda:N".
    What visitors wait for is timed on the CPU alone. ``out`` is a JSON file to write.
    """
    place = resolve_device(device)
    where = str(place)
    print(
        f"{machine()}, torch threads: {torch.get_num_threads()}, {device_name(place)}"
    )
    rows = [_axis_trees_row(step, steps, where) for step in STEPS]
    rows.append(_weighting_row(STEPS[0], steps, where))
    rows += solver_rows(steps, where)
    rows.append(_oblique_row(steps, where))
    if place.type == "cpu":
        rows += table_rows(steps)
    if out is not None:
        out.write_text(json.dumps(rows, indent=1))
    return 0


def _axis_trees_row(step: AxisTreesStep, steps: int, device: str) -> dict:
    """Time one step with each formulation and print a line."""
    seconds = {
        backend: median_seconds(
            step.make(backend, device), steps, device, at_least=AT_LEAST
        )
        for backend in ("dense", "torch", "auto")
        if backend != "dense" or step.depth <= DEEPEST_DENSE
    }
    times = ", ".join(
        f"{backend} {1000 * taken:.2f} ms ({taken / seconds['auto']:.1f}x)"
        for backend, taken in seconds.items()
    )
    print(
        f"{step.name}, E={step.n_trees}, D={step.depth}, F={step.n_features}, "
        f"B={step.n_rows}: {times}"
    )
    return {
        "step": step.name,
        "trees": step.n_trees,
        "depth": step.depth,
        "features": step.n_features,
        "offered": step.n_offered,
        "rows": step.n_rows,
    } | {f"{backend}_ms": 1000 * taken for backend, taken in seconds.items()}


def _weighting_row(step: AxisTreesStep, steps: int, device: str) -> dict:
    """Time a step with its mixture of trees, by each weighting, and print a line."""
    made = [step.make("auto", device, weighting) for weighting in WEIGHTINGS]
    taken = dict(zip(WEIGHTINGS, medians(made, steps, device, at_least=AT_LEAST)))
    ratio = taken["entmax15"] / taken["softmax"]
    print(
        f"{step.name}, trees mixed: entmax15 {1000 * taken['entmax15']:.2f} ms, "
        f"softmax {1000 * taken['softmax']:.2f} ms ({ratio:.2f} times)"
    )
    return {"step": f"{step.name}, trees mixed"} | {
        f"{weighting}_ms": 1000 * seconds for weighting, seconds in taken.items()
    }


def _oblique_row(steps: int, device: str) -> dict:
    """Time GET's step for a start and print a line; ours trains all starts at once."""
    step = oblique_steps(**SHAPE, device=device)
    dense = median_seconds(step["dense"], steps, device, at_least=AT_LEAST)
    ours = median_seconds(step["ours"], steps, device, at_least=AT_LEAST)
    ours /= SHAPE["n_starts"]
    print(
        f"GET step, a start, E={SHAPE['n_starts']}, D={SHAPE['depth']}, "
        f"F={SHAPE['n_features']}, B={SHAPE['n_rows']}: dense {1000 * dense:.2f} ms, "
        f"ours {1000 * ours:.2f} ms ({dense / ours:.1f}x)"
    )
    return {"step": "GET step, a start", **SHAPE} | {
        "dense_ms": 1000 * dense,
        "auto_ms": 1000 * ours,
    }
