"""Loss and gradients of candidates on a batch; on a GPU captured once, then replayed.

A step of small trees is hundreds of kernels of some microseconds, and to launch them
one by one from Python takes far longer than they run. A CUDA graph launches them all
at once.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

WARM_UP_STEPS = 3  # that run as written first: kernels are compiled, memory is found


class Gradients:
    """Puts the gradients of a batch into the parameters of candidates.

    A graph knows nothing of what Python would decide: it computes on the same memory
    with the same numbers. So it is captured anew where a number or the place of a
    tensor of the candidates (see ``treelab.training.loop``) is another one, and while
    their loss reads what changes from step to step their ``is_captured`` is False. The
    generators are what their loss draws from.
    """

    def __init__(self, candidates: Any, generators: Sequence[torch.Generator] = ()):
        self.candidates, self.generators = candidates, generators
        self._can_capture = True
        self._graphs: dict[int, _Graph] = {}  # by the rows of a batch

    def __call__(self, rows: Tensor) -> Tensor:
        """Return the loss (K,) on the training rows of these indices."""
        is_captured = self._can_capture and getattr(
            self.candidates, "is_captured", True
        )
        if rows.device.type != "cuda" or not is_captured:
            return self._as_written(rows)
        graph, read = self._graphs.get(len(rows)), self._read()
        if graph is None or graph.read != read:
            graph = self._graphs[len(rows)] = _Graph(read)
        with torch.cuda.device(rows.device):
            if graph.n_steps < WARM_UP_STEPS:
                graph.n_steps += 1
                return self._aside(rows)
            if graph.cuda is None:
                try:
                    self._capture(graph, rows)
                except RuntimeError as error:
                    self._can_capture = False
                    warnings.warn(
                        "The GPU runs this training kernel by kernel, which is slower: "
                        f"its loss cannot be captured ({str(error).splitlines()[0]}).",
                        RuntimeWarning,
                        stacklevel=2,
                    )
                    torch.cuda.synchronize()
                    return self._as_written(rows)
            return self._replay(graph, rows)

    def _as_written(self, rows: Tensor) -> Tensor:
        """Compute loss and gradients in Python."""
        for parameter in self._parameters():
            parameter.grad = None
        loss = self.candidates.batch_loss(rows)  # (K,)
        loss.sum().backward()
        return loss.detach()

    def _aside(self, rows: Tensor) -> Tensor:
        """Warm up on another stream than the default one, as a capture runs."""
        main, side = torch.cuda.current_stream(), torch.cuda.Stream()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            loss = self._as_written(rows)
        main.wait_stream(side)
        return loss

    def _capture(self, graph: "_Graph", rows: Tensor) -> None:
        """Record the kernels of a step; none runs yet."""
        graph.rows, made = rows.clone(), torch.cuda.CUDAGraph()
        for generator in self.generators:
            made.register_generator_state(generator)
        for parameter in self._parameters():
            parameter.grad = None
        with torch.cuda.graph(made):
            loss = self.candidates.batch_loss(graph.rows)
            loss.sum().backward()
        graph.loss, graph.cuda = loss.detach(), made
        graph.gradients = [parameter.grad for parameter in self._parameters()]

    def _replay(self, graph: "_Graph", rows: Tensor) -> Tensor:
        """Launch a captured step on other rows."""
        graph.rows.copy_(rows)
        graph.cuda.replay()
        for parameter, gradient in zip(self._parameters(), graph.gradients):
            parameter.grad = gradient  # a step of other rows may have put its own there
        return graph.loss.clone()

    def _parameters(self) -> list[torch.nn.Parameter]:
        """Parameters of the candidates."""
        return [parameter for _, parameter in self.candidates.named_parameters()]

    def _read(self) -> tuple:
        """Numbers that the candidates hold, and where their tensors lie."""
        module = self.candidates
        held = [*vars(module).values(), *module.parameters(), *module.buffers()]
        return tuple(map(_place, held))


@dataclass
class _Graph:
    """A captured step: the memory that it reads and writes."""

    read: tuple  # what the candidates held at the first of its steps
    n_steps: int = 0  # steps so far that ran as written
    cuda: Any = None  # a CUDAGraph, once it is captured
    rows: Tensor = field(default_factory=lambda: torch.empty(0))  # (B,)
    loss: Tensor = field(default_factory=lambda: torch.empty(0))  # (K,)
    gradients: list[Tensor | None] = field(default_factory=list)


def _place(held: Any) -> Any:
    """A plain value itself, of a tensor its address, else which object it is."""
    if isinstance(held, Tensor):
        return held.data_ptr(), held.shape
    return held if isinstance(held, int | float | str | None) else id(held)
