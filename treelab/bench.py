"""How long a step of each operator takes, beside its dense formulation."""

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
from entmax import entmax15
from torch import Tensor, nn
from torch.nn import functional

from treelab.data.builtin import BUILTIN
from treelab.data.encoding import TableEncoder
from treelab.data.problem import make_problem
from treelab.data.reading.read_table import read_table
from treelab.learners.argmin.estimators import ArgminTreeClassifier
from treelab.learners.grande.settings import MAX_DECIDERS, GrandeSettings
from treelab.learners.grande.weighting import entropy, weighted_prediction
from treelab.ops.activity import ridge_program, traversal
from treelab.ops.axis_trees import axis_trees
from treelab.ops.decide import decide
from treelab.ops.oblique import oblique_margin, soft_route
from treelab.runs.store.run_store import RunStore
from treelab.training.device import device_name, resolve_device
from treelab.training.gradients import Gradients
from treelab.trees.logits import WEIGHTINGS
from treelab.trees.words import counted


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

    One more run than count warms each up; the device is waited for before and after
    each. All runs that count take ``at_least`` so many seconds together: the median of
    a few short runs is that of a moment. Returns the median seconds of each.
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
        "place 31,744 splits in 40,000 rows": partial(
            encoder.axis_splits, feature, threshold
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
    draw = _drawn(device)
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
    """Time the solver, then the training of one tree and of 16.

    The solver's medians are taken of `SOLVER_RUNS` times as many runs as ``steps``.
    """
    solves = [solver_step(e, d, b, device) for _, e, d, b in SOLVER_STEPS]
    one, *_ = taken = medians(solves, SOLVER_RUNS * steps, device)
    rows = [
        _row(name, {"shape": shape}, {"auto": own}, **_times(own, one, shape[0]))
        for (name, *shape), own in zip(SOLVER_STEPS, taken)
    ]
    counts = (1, RESTARTS)
    fits = [argmin_fit(n_restarts, device=device) for n_restarts in counts]
    one, *_ = taken = medians(fits, FITS, device)
    return rows + [
        _row(
            f"argmin fit, an epoch, {counted(n_restarts, 'restart')}",
            {"depth": DEPTH, "rows": ROWS},
            {"auto": own / EPOCHS},
            **_times(own, one, n_restarts),
        )
        for n_restarts, own in zip(counts, taken)
    ]


def _times(taken: float, one: float, n_trees: int) -> dict[str, float]:
    """Return how many times one tree's time several took; nothing for one."""
    return {"times_one": taken / one} if n_trees > 1 else {}


def solver_step(
    n_trees: int, depth: int, n_rows: int, device: str = "cpu"
) -> Callable[[], None]:
    """Return a function that solves once, forward and backward, down to z.

    Every tree has split scores of its own, as in training.
    """
    shape = (n_trees, 2**depth - 1, n_rows)
    start = torch.randn(shape, **_drawn(device)).requires_grad_()
    strength = torch.full((n_trees,), 10.0, device=device)

    def step() -> None:
        start.grad = None
        traversal(start, ridge_program(start, strength))[0].sum().backward()

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


BACKENDS = ("dense", "torch", "auto")
AT_LEAST = 1.0  # seconds that the runs of a step take together
DEEPEST = 6  # deeper, the dense sum over paths wants minutes and gigabytes


def axis_trees_step(
    backend: str,
    device: str = "cpu",
    weighting: str | None = None,
    *,
    trees: int,
    depth: int,
    features: int,
    offered: int,
    rows: int,
    outputs: int,
    soft: str,
) -> Callable[[], None]:
    """Return a step of trees with ordinary splits: forward, backward and Adam.

    Each tree may use the features that are ``offered``, and ``soft`` is as in `decide`;
    ``backend`` is "dense" or one of `axis_trees`. With a ``weighting`` the last
    output is a leaf's weight, and `weighted_prediction` mixes the trees; with an
    entmax as our recipe trains: few trees, their entropy penalised.
    """
    most = MAX_DECIDERS if weighting == "entmax15" else None
    rng = _drawn(device)
    shape = (trees, 2**depth - 1, offered)
    logits = (0.5 * torch.randn(shape, **rng)).requires_grad_()
    threshold = torch.randn(shape, **rng).requires_grad_()
    leaf_shape = (trees, 2**depth, outputs)
    leaf = torch.randn(leaf_shape, **rng).requires_grad_()
    x = torch.randn(rows, features, **rng)
    columns = None
    if offered < features:
        order = torch.rand(trees, features, **rng).argsort(1)
        columns = order[:, :offered].contiguous()
    optimizer = torch.optim.Adam([logits, threshold, leaf], fused=True)
    formulation: Callable[..., Tensor] = dense_axis_trees
    if backend != "dense":
        formulation = partial(axis_trees, backend=backend)

    def loss() -> Tensor:
        output = formulation(x, logits, threshold, leaf, columns=columns, soft=soft)
        if weighting is not None:
            output, weights = weighted_prediction(
                output[:, :-1], output[:, -1], weighting=weighting, max_deciders=most
            )
        found = output.square().mean()
        if most is not None:
            found = found + GrandeSettings.entropy_penalty * entropy(weights).mean()
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


_SHARED = {"features": 30, "rows": 256}
_GRANDE = {**_SHARED, "offered": 24, "outputs": 2, "soft": "softsign"}
_GRADTREE = {**_SHARED, "offered": 30, "outputs": 1, "soft": "logistic"}
STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("GRANDE step", {"trees": 1024, "depth": 5, **_GRANDE}),
    ("GRANDE step", {"trees": 1024, "depth": 6, **_GRANDE}),
    ("GradTree step", {"trees": 16, "depth": 10, **_GRADTREE}),
    ("GradTree step, 16 restarts", {"trees": 16, "depth": 6, **_GRADTREE}),
    ("GradTree step, 1 restart", {"trees": 1, "depth": 6, **_GRADTREE}),
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
    rows = []
    timed: Callable = partial(
        median_seconds, n_runs=steps, device=where, at_least=AT_LEAST
    )
    for name, shape in STEPS:
        ways = [way for way in BACKENDS if way != "dense" or shape["depth"] <= DEEPEST]
        seconds = {way: timed(axis_trees_step(way, where, **shape)) for way in ways}
        rows.append(_row(name, shape, seconds))
    name, shape = STEPS[0]
    mixed = [axis_trees_step("auto", where, way, **shape) for way in WEIGHTINGS]
    taken = medians(mixed, steps, where, at_least=AT_LEAST)
    rows.append(_row(f"{name}, trees mixed", {}, dict(zip(WEIGHTINGS, taken))))
    rows += solver_rows(steps, where)
    dense, ours = map(timed, oblique_steps(**SHAPE, device=where).values())
    seconds = {"dense": dense, "auto": ours / SHAPE["n_starts"]}  # all starts at once
    rows.append(_row("GET step, a start", SHAPE, seconds))
    if place.type == "cpu":
        with TemporaryDirectory() as folder, table_steps(Path(folder)) as made:
            for name, each in made.items():
                rows.append(_row(name, {}, {"auto": median_seconds(each, steps)}))
    if out is not None:
        out.write_text(json.dumps(rows, indent=1))
    return 0


def _row(name: str, shape: dict, seconds: dict[str, float], **more: float) -> dict:
    """Print what formulations of a step took, of the last one how many times each.

    Returns that as values for JSON.
    """
    taken = {way: 1000 * own for way, own in seconds.items()}
    *others, base = taken.values()
    words = [
        f"{way} {own:.2f} ms" + (f" ({own / base:.1f}x)" if others else "")
        for way, own in taken.items()
    ]
    words += [f"{fact} {value:.1f}" for fact, value in more.items()]
    facts = [f"{fact}={value}" for fact, value in shape.items()]
    print(f"{', '.join([name, *facts])}: {', '.join(words)}")
    return {"step": name, **shape, **more} | {
        f"{w}_ms": own for w, own in taken.items()
    }


def _drawn(device: str) -> dict[str, Any]:
    """Return how random tensors of a step are drawn."""
    return {"generator": torch.Generator(device).manual_seed(0), "device": device}
