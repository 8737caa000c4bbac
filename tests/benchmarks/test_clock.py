"""Taking the time of a step."""

import pytest

from treelab import bench as clock
from treelab.bench import median_seconds, medians, table_steps


def test_steps_take_turns_and_the_first_turn_does_not_count(monkeypatch):
    hands, order = [0.0], []
    monkeypatch.setattr(clock.time, "perf_counter", lambda: hands[0])

    def step(name, lengths):
        left = iter(lengths)

        def run():
            order.append(name)
            hands[0] += next(left)

        return run

    made = [step("a", [100, 1, 3, 2]), step("b", [7, 5, 5, 5])]
    assert medians(made, 3) == [2, 5]
    assert "".join(order) == "abababab"
    assert median_seconds(step("c", [9, 4, 4]), 2) == 4
    order.clear()
    assert median_seconds(step("d", [9, 4, 1, 1, 1, 1]), 2, at_least=8) == 1
    assert "".join(order) == "dddddd"


@pytest.mark.slow
def test_what_a_visitor_waits_for_can_be_timed(tmp_path):
    with table_steps(tmp_path) as made:
        for step in made.values():
            assert step() is not None
