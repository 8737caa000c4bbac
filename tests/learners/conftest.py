"""Learners under test compute on the CPU; tests/test_cuda.py has them on a GPU."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _on_the_cpu(monkeypatch):
    """Many tests compare a model with the tensors that trained it, on the CPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
