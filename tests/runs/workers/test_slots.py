"""The slots of a machine, by its GPUs, its memory and the environment."""

import types

import pytest

from treelab.runs.workers import queue as slots


@pytest.mark.parametrize(
    ("wanted", "gpus", "gigabytes", "planned"),
    [
        (None, 0, 16, ["quick", "cpu:0", "cpu:1", "cpu:2", "cpu:3"]),
        (None, 0, 3.2, ["quick", "cpu:0", "cpu:1"]),
        (None, 0, 1, ["quick", "cpu:0"]),
        (None, 2, 16, ["quick", "cuda:0", "cuda:1"]),
        ("2", 1, 16, ["quick", "cuda:0", "cuda:0#1"]),
        ("6", 0, 1, ["quick", *[f"cpu:{k}" for k in range(6)]]),
        ("0", 2, 16, []),
    ],
)
def test_slots_fit_the_machine(monkeypatch, wanted, gpus, gigabytes, planned):
    monkeypatch.delenv("TREELAB_SLOTS", raising=False)
    if wanted is not None:
        monkeypatch.setenv("TREELAB_SLOTS", wanted)
    memory = types.SimpleNamespace(total=gigabytes * 1e9)
    monkeypatch.setattr(slots, "gpu_names", lambda: ("H200",) * gpus)
    monkeypatch.setattr(slots.psutil, "virtual_memory", lambda: memory)
    assert slots.planned_slots() == planned
    devices = [slots.slot_device(slot) for slot in planned]
    assert devices == [
        slot.partition("#")[0] if "cuda" in slot else None for slot in planned
    ]


def test_the_cores_are_shared_among_the_slots_of_the_cpu(monkeypatch):
    monkeypatch.setattr(slots, "gpu_names", lambda: ())
    monkeypatch.setattr(slots.joblib, "cpu_count", lambda: 8)
    monkeypatch.setenv("TREELAB_SLOTS", "4")
    assert slots.threads_per_slot("cpu:3") == 2
    monkeypatch.setenv("TREELAB_SLOTS", "16")
    assert slots.threads_per_slot("cpu:3") == 1


def test_a_number_of_slots_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("TREELAB_SLOTS", "many")
    with pytest.raises(ValueError, match="TREELAB_SLOTS must be a whole number"):
        slots.planned_slots()


@pytest.mark.parametrize(
    ("printed", "visible", "names"),
    [
        ("NVIDIA H200\nNVIDIA H200\n", None, ("NVIDIA H200",) * 2),
        ("NVIDIA A10\nNVIDIA H200\n", "1", ("NVIDIA H200",)),
        ("NVIDIA A10\nNVIDIA H200\n", "1,7", ("NVIDIA H200",)),
        ("NVIDIA A10\nNVIDIA H200\n", "GPU-4f2a", ("NVIDIA A10",)),
        ("NVIDIA H200\n", "", ()),
        ("NVIDIA H200\n", "-1", ()),
        ("", None, ()),
    ],
)
def test_gpus_are_those_this_process_may_use(
    monkeypatch, tmp_path, printed, visible, names
):
    done = types.SimpleNamespace(returncode=0 if printed else 9, stdout=printed)
    monkeypatch.setattr(slots.shutil, "which", lambda name: name)
    monkeypatch.setattr(slots.subprocess, "run", lambda *a, **k: done)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    slots.gpu_names.cache_clear()
    assert slots.gpu_names() == names
    slots.gpu_names.cache_clear()
