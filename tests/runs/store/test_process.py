"""A living process differs from a dead one, and from another of its number."""

import subprocess
import sys
from dataclasses import replace

from treelab.runs.store.workers import ProcessId


def test_this_process_is_alive_and_survives_being_written_down():
    me = ProcessId.here()
    assert me.is_local
    assert me.is_alive()
    assert ProcessId.parse(str(me)) == me


def test_a_later_process_of_the_same_number_is_another():
    me = ProcessId.here()
    assert not replace(me, started=me.started - 100).is_alive()


def test_a_process_is_dead_once_killed_even_before_its_parent_looks():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    found = ProcessId.of(child.pid)
    assert found.is_alive()
    child.kill()
    child.stdin.close()
    while found.is_alive():  # a zombie, until we wait for it below
        pass
    child.wait()
    assert not found.is_alive()
