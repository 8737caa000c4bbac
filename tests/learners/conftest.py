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
def small_search(monkeypatch):
    """All steps of the search for a size, with few candidates in each."""
    monkeypatch.setattr("treelab.learners.common.tuned_tree.DEPTHS", (2,))
    monkeypatch.setattr("treelab.learners.common.tuned_tree.LEAF_SIZES", (1,))
