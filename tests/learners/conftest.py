"""Learners under test compute on the CPU; tests/test_cuda.py has them on a GPU."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _on_the_cpu(monkeypatch):
    """Many tests compare a model with the tensors that trained it, on the CPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture(autouse=True)
def _without_interim_reports(monkeypatch):
    """Tests count reports: a slow machine sends none more, between its epochs."""
    monkeypatch.setattr("treelab.training.events.REPORT_SECONDS", float("inf"))


@pytest.fixture
def folds_drawn_once(monkeypatch):
    """Folds are drawn once, as of a large table, which is faster."""
    monkeypatch.setattr("treelab.learners.common.folds.REPEATED_ROWS", 20)
