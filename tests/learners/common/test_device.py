"""Where a learner computes, and what is said of it."""

import pytest
import torch

from treelab.training.device import free_memory, resolve_device


def test_the_cpu_has_no_memory_of_its_own_to_tell_of():
    assert free_memory(torch.device("cpu")) == ""


def test_a_gpus_free_memory_is_told_in_gibibytes(monkeypatch):
    free = {torch.device("cuda:1"): (30 * 2**30, 80 * 2**30)}
    monkeypatch.setattr(torch.cuda, "mem_get_info", free.__getitem__)
    assert free_memory(torch.device("cuda:1")) == "30 of 80 GiB free"


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto").type == "cpu"
    with pytest.raises(ValueError, match="sees no CUDA GPU here"):
        resolve_device("cuda:0")
    with pytest.raises(ValueError, match="device must be 'auto'"):
        resolve_device("tpu core")
    with pytest.raises(ValueError, match="device must be 'auto'"):
        resolve_device("mps")
