"""The optimizers of torch, without its compiler.

Torch's own load it with their first parameter, to keep it out of themselves: 800
modules, which take every new process a second and are of no use here.
"""

from inspect import unwrap

import torch

_GUARDED = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")


def without_compiler(kind: type) -> type:
    """Take the guards against the compiler off an optimizer's class."""
    for name in _GUARDED:
        setattr(kind, name, unwrap(getattr(kind, name)))
    kind.step = torch.no_grad()(unwrap(kind.step))  # type: ignore[attr-defined]
    return kind


@without_compiler
class Adam(torch.optim.Adam):
    """Adam.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015.
    """


@without_compiler
class AdamW(torch.optim.AdamW):
    """Adam whose weights decay by themselves.

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
    """
