"""Kernels are compiled once, by a process of its own that says how far it is."""

import os
import time

import pytest

from treelab.runs.workers import kernels
from treelab.runs.workers.kernels import (
    FILE,
    QUICK_SETTINGS,
    STALE_SECONDS,
    compile_kernels,
    compiling,
    start_compiling,
)


@pytest.fixture
def started(monkeypatch):
    """Commands of processes that were to be started."""
    commands: list = []
    monkeypatch.setattr(
        kernels.subprocess, "Popen", lambda command, **_: commands.append(command)
    )
    return commands


def test_what_is_compiled_already_starts_nothing(tmp_path, started, monkeypatch):
    monkeypatch.setattr(kernels, "are_compiled", lambda: True)
    start_compiling(tmp_path)
    assert started == []
    assert compiling(tmp_path) is None


def test_one_process_is_started_and_said(tmp_path, started, monkeypatch):
    monkeypatch.setattr(kernels, "are_compiled", lambda: False)
    start_compiling(tmp_path)
    start_compiling(tmp_path)
    ((*_, home),) = started
    assert home == str(tmp_path)
    assert compiling(tmp_path) == 0


def test_a_process_that_died_is_not_waited_for(tmp_path):
    (tmp_path / FILE).write_text("1")
    assert compiling(tmp_path) is not None
    past = time.time() - STALE_SECONDS - 1
    os.utime(tmp_path / FILE, (past, past))
    assert compiling(tmp_path) is None
    (tmp_path / FILE).write_text("{")
    assert compiling(tmp_path) is None


def test_each_learner_is_trained_in_turn_and_the_note_goes(tmp_path, monkeypatch):
    seen = []

    class Model:
        def fit(self, X, y):
            seen.append(compiling(tmp_path))

    monkeypatch.setattr(
        "treelab.learners.registry.make_estimator", lambda *_, **__: Model()
    )
    compile_kernels(tmp_path)
    assert seen == list(range(len(QUICK_SETTINGS)))
    assert not (tmp_path / FILE).exists()


@pytest.mark.slow
def test_afterwards_all_kernels_are_there(tmp_path):
    compile_kernels(tmp_path)
    assert kernels.are_compiled()
