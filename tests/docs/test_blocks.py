"""What the pages show in fences runs as it stands, page by page, from top to bottom."""

import contextlib
import io
import re
import shlex
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.docs.pages import FENCE, PAGES, ROOT, name_of
from treelab.cli.main import main
from treelab.learners.registry import LEARNERS

BLOCK = re.compile(
    r"(?:^<!-- not run: ([^\n]+) -->\n)?" + FENCE.pattern, re.MULTILINE | re.DOTALL
)
RUN = re.compile(r"\brun (\w+-\w+)")
FIGURE = re.compile(r"^print\(.*\)  # (0\.\d{3})$", re.MULTILINE)
NUMBER = re.compile(r"0\.\d+")
TABLE = "table.csv"
QUICK = {"n_restarts": 2, "n_starts": 2, "n_steps": 10, "max_leaf_nodes": 4}


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """A page's fenced blocks: why not to run it, its language, its text."""
    return BLOCK.findall(page.read_text("utf-8"))


RUNNABLE = [page for page in PAGES if any(not why for why, *_ in blocks(page))]


@pytest.fixture(scope="module")
def folds_drawn_once():
    """Not here: figures that pages say are those of folds as they are drawn."""


@pytest.fixture
def desk(tmp_path, monkeypatch) -> Path:
    """A folder with the small tables that the pages name, and an empty run store.

    What a line trains by steps is trained for a moment: which tree it is, no page
    says, and it would take most of the time.
    """
    for key in ("gradtree", "get"):
        spec = LEARNERS[key]
        settings = (
            replace(one, default=QUICK.get(one.name, one.default))
            for one in spec.settings
        )
        monkeypatch.setitem(LEARNERS, key, replace(spec, settings=tuple(settings)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREELAB_HOME", str(tmp_path / "home"))
    rng = np.random.default_rng(0)
    size = rng.uniform(20, 90, 120).round(1)
    table = pd.DataFrame({"size": size, "floor": rng.integers(0, 5, 120)})
    table["price"] = (3 * size + rng.normal(0, 9, 120)).round(1)
    table["bar"] = np.where(size > 50, "sound", "cracked")
    table.to_csv(TABLE, index=False)
    table.to_csv("new.csv", index=False)
    table.to_excel("book.xlsx", sheet_name="2024", index=False, engine="xlsxwriter")
    with contextlib.closing(sqlite3.connect("shop.db")) as shop:
        table.to_sql("sales", shop, index=False)
    return tmp_path


def run_line(line: str, run: str | None) -> str:
    """Run one line of the shell; return the run that it trained, or else ``run``."""
    words = shlex.split(line, comments=True)
    assert words.pop(0) == "treelab", f"{line!r} is no command of treelab"
    words = [run if word == "RUN" and run else word for word in words]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(words) == 0, line
    made = RUN.search(printed.getvalue())
    return made.group(1) if made and words[0] == "train" else run


def given(page: Path) -> dict:
    """What README's Python takes as given: a table, split in two."""
    if page != ROOT / "README.md":
        return {}
    table = pd.read_csv(TABLE)
    X, y = table[["size", "floor"]], table["bar"]
    names = ("X_train", "X_test", "y_train", "y_test")
    return dict(zip(names, (X[:90], X[90:], y[:90], y[90:])))


def check_figures(text: str, printed: str) -> None:
    """Compare the figures that a block says it prints, ``print(...)  # 0.5``."""
    said = FIGURE.findall(text)
    found = [float(line) for line in printed.splitlines() if NUMBER.fullmatch(line)]
    assert not said or [f"{value:.3f}" for value in found] == said


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_blocks_run_as_they_stand(page, desk, monkeypatch):
    names = given(page)
    run = None
    has_figures = any(FIGURE.search(text) for *_, text in blocks(page))
    for why, language, text in blocks(page):
        if why or not language:
            continue
        with monkeypatch.context() as quick:
            if language == "sh" or not has_figures:  # which tree it is, no page says
                quick.setattr("treelab.learners.common.folds.REPEATED_ROWS", 0)
            if language == "sh":
                for line in text.splitlines():
                    run = run_line(line, run)
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text, name_of(page), "exec"), names)
            check_figures(text, printed.getvalue())


def test_every_block_says_its_language_or_is_a_drawing():
    fenced = {language for page in PAGES for _, language, _ in blocks(page)}
    assert fenced <= {"python", "sh", ""}


def test_few_blocks_are_not_run():
    left_out = {
        name_of(page): sum(bool(why) for why, *_ in blocks(page)) for page in PAGES
    }
    counts = {name: n for name, n in left_out.items() if n}
    assert counts == {"docs/gallery.md": 6, "docs/tour.md": 1}
