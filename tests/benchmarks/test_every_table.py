"""``benchmarks tables``: what was read wrong is named, what was not trained is, too."""

from dataclasses import replace

import pytest

from benchmarks import every_table
from benchmarks.__main__ import main
from benchmarks.runner import Results
from treelab.data.builtin import BUILTIN
from treelab.data.problem import make_problem


def test_what_was_taken_for_something_else_is_named(table):
    frame = BUILTIN["iris"].load()
    problem = make_problem(frame, table.target)
    assert every_table.missed(table, frame, problem) == []
    number = problem.columns[0]
    other = replace(table, task="regression", categorical=(number,))
    fewer = replace(problem, columns=problem.columns[:-1])
    assert every_table.missed(other, frame, fewer) == [
        f"{table.target}: multiclass, not regression",
        f"{number}: number, not category",
        f"{problem.columns[-1]}: left out",
    ]


@pytest.mark.slow
def test_it_reads_trains_and_goes_on_where_it_stopped(
    table, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(every_table, "read_manifest", lambda folder: [table])
    out = tmp_path / "results.jsonl"
    command = ["tables", "--data", str(tmp_path), "--out", str(out)]
    assert main([*command, "--learners", "cart"]) == 0
    printed = capsys.readouterr().out
    assert "1 of 1 tables" in printed
    assert "1 of 1 fits" in printed
    assert Results(out).rows[-1]["score"] > 0.85
    n_lines = len(out.read_text().splitlines())
    assert main([*command, "--learners", "cart"]) == 0
    assert len(out.read_text().splitlines()) == n_lines
    assert main([*command, "--learners", "nobody"]) == 2
