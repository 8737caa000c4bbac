"""The parameters of each candidate at its best validation losses."""

import math

import torch
from torch import Tensor


class BestCheckpoints:
    """Saves each candidate's parameters whenever its validation loss improves.

    Parameters
    ----------
    candidates : Module
        See ``treelab.training.loop.Candidates``.
    n_saved : int, default=1
        Checkpoints saved of each candidate: the last that improved.

    Attributes
    ----------
    loss : Tensor of shape (K,)
        Lowest validation loss so far, infinite before the first.
    epoch : LongTensor of shape (K,)
        Epoch of that loss, 0 before the first.
    """

    def __init__(self, candidates, n_saved: int = 1):
        k = candidates.n_candidates
        self._tensors = dict(candidates.named_parameters())
        self._saved = [
            {name: t.detach().clone() for name, t in self._tensors.items()}
            for _ in range(n_saved)
        ]
        self._owners = getattr(candidates, "parameter_candidates", {})
        self._single = k == 1
        device = next(iter(self._tensors.values())).device
        self.loss = torch.full((k,), math.inf, device=device)
        self.epoch = torch.zeros(k, dtype=torch.long, device=device)
        self._n_improved = torch.zeros(k, dtype=torch.long, device=device)

    def update(self, valid_loss: Tensor, epoch: int | None = None) -> Tensor:
        """Save the candidates whose validation loss (K,) improved; return which, (K,).

        A loss that is NaN is no improvement. Without ``epoch`` the best epochs stay.
        """
        improved = valid_loss < self.loss  # False for NaN
        self.loss = torch.where(improved, valid_loss, self.loss)
        if epoch is not None:
            self.epoch = torch.where(improved, epoch, self.epoch)
        self._save(improved)
        return improved

    @torch.no_grad()
    def restore(self, where: Tensor | None = None):
        """Put the parameters saved last back into the module.

        Before the first improvement these are the parameters at the beginning. With
        ``where`` (K,) only those of some candidates.
        """
        n_saved = len(self._saved)
        last = (self._n_improved - 1).clamp(min=0) % n_saved
        for slot, saved in enumerate(self._saved):
            chosen = last == slot if where is None else (last == slot) & where
            for name, now in self._tensors.items():
                now.copy_(torch.where(self._of(name, chosen), saved[name], now))

    @torch.no_grad()
    def average(self):
        """Put the mean of the saved parameters into the module.

        Those that no gradient trains follow a schedule, and stay where it left them.
        """
        n_filled = self._n_improved.clamp(min=1, max=len(self._saved))
        for name, now in self._tensors.items():
            if not now.requires_grad:
                continue
            total = torch.zeros_like(now)
            for slot, saved in enumerate(self._saved):
                total += torch.where(self._of(name, n_filled > slot), saved[name], 0)
            now.copy_(total / self._of(name, n_filled))

    def state_dict(self, *, of_saved: bool = True) -> dict:
        """State for a checkpoint; without the parameters once they are restored."""
        return {
            "loss": self.loss,
            "epoch": self.epoch,
            "n_improved": self._n_improved,
            "saved": self._saved if of_saved else [],
        }

    def load_state_dict(self, state: dict) -> None:
        """Go back to a state."""
        self.loss = state["loss"].to(self.loss.device)
        self.epoch = state["epoch"].to(self.epoch.device)
        self._n_improved = state["n_improved"].to(self._n_improved.device)
        for own, saved in zip(self._saved, state["saved"]):
            for name, tensor in own.items():
                tensor.copy_(saved[name])

    @torch.no_grad()
    def _save(self, improved: Tensor):
        """Save the parameters of the candidates (K,) that improved, slots in turn."""
        n_saved = len(self._saved)
        for slot, saved in enumerate(self._saved):
            here = improved
            if n_saved > 1:
                here = improved & (self._n_improved % n_saved == slot)
            if self._single and not bool(here[0]):
                continue
            for name, now in self._tensors.items():
                saved[name].copy_(torch.where(self._of(name, here), now, saved[name]))
        self._n_improved += improved

    def _of(self, name: str, value: Tensor) -> Tensor:
        """One value for each candidate (K,), in a shape that fits its parameters."""
        if self._single:
            return value[0]
        own = value[self._owners.get(name, slice(None))]
        return own.reshape(-1, *[1] * (self._tensors[name].dim() - 1))
