"""The state of modules, optimizers and generators as plain values and arrays."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from treelab.training.checkpointer import State


def pack(value: Any) -> State:
    """Take a nest of dicts, lists, tensors and plain values apart; see ``unpack``."""
    arrays: dict[str, np.ndarray] = {}

    def plain(part):
        if isinstance(part, Tensor | np.ndarray):
            is_tensor = isinstance(part, Tensor)
            array = part.detach().cpu().numpy().copy() if is_tensor else part.copy()
            name = str(len(arrays))
            arrays[name] = array
            return {"tensor" if is_tensor else "array": name}
        if isinstance(part, dict):  # JSON has no numbers as keys
            return {"items": [[key, plain(each)] for key, each in part.items()]}
        if isinstance(part, list | tuple):
            return [plain(each) for each in part]
        if isinstance(part, np.generic):
            return part.item()
        return part

    return plain(value), arrays


def unpack(state: State) -> Any:
    """Put together what ``pack`` took apart; tensors on the CPU, tuples as lists."""
    plain, arrays = state

    def whole(part):
        if isinstance(part, list):
            return [whole(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "tensor" in part:
            return torch.from_numpy(arrays[part["tensor"]])
        if "array" in part:
            return arrays[part["array"]]
        return {key: whole(each) for key, each in part["items"]}

    return whole(plain)


def generators_of(*owners: Any) -> list[torch.Generator]:
    """List the generators that objects hold, or are, in a fixed order."""
    found = []
    for owner in owners:
        held = [owner] if isinstance(owner, torch.Generator) else vars(owner).values()
        found += [each for each in held if isinstance(each, torch.Generator)]
    return found


def fits(module, generators: list[torch.Generator], saved: dict) -> bool:
    """Whether saved parameters are of a module, and generators of the same device."""
    own = {name: each.shape for name, each in module.named_parameters()}
    states = [each.get_state().shape for each in generators]
    return own == {
        name: each.shape for name, each in saved["parameters"].items()
    } and states == [each.shape for each in saved["generators"]]


@torch.no_grad()
def set_parameters(module, saved: dict[str, Tensor]) -> None:
    """Put saved parameters into a module."""
    for name, parameter in module.named_parameters():
        parameter.copy_(saved[name])


def set_generators(generators: list[torch.Generator], saved: list[Tensor]) -> None:
    """Put generators back where they were."""
    for generator, state in zip(generators, saved):
        generator.set_state(state)
