"""The book is whole: its menu, its links, its lists of names and settings."""

import importlib.util
import re
import shlex
import subprocess
import sys

import pytest
import yaml

import treelab
from benchmarks.__main__ import build_parser as build_benchmarks
from tests.docs.pages import DOCS, LINK, PAGES, ROOT, anchors, name_of, without_code
from treelab.cli.main import build_parser
from treelab.learners.registry import find_spec

here = importlib.util.spec_from_file_location("tables", DOCS / "settings_tables.py")
settings_tables = importlib.util.module_from_spec(here)
here.loader.exec_module(settings_tables)

LISTED = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \|", re.MULTILINE)
CODE = re.compile(r"^```\w*\n(.*?)^```|^( {4}\S[^\n]*)$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(
    r"^(?: {4})?(?:python -m )?(treelab|benchmarks) (\S.*)$", re.MULTILINE
)
MOST_BYTES = {".png": 150_000, ".gif": 1_500_000, ".svg": 20_000}


class Loose(yaml.SafeLoader):
    """Reads mkdocs.yml, tags of its extensions among it."""


Loose.add_multi_constructor("", lambda loader, tag, node: None)


def menu(entries) -> list[str]:
    """The pages that a menu of mkdocs.yml names."""
    if isinstance(entries, str):
        return [entries]
    if isinstance(entries, dict):
        entries = list(entries.values())
    return [page for entry in entries for page in menu(entry)]


def test_the_menu_has_every_page_once():
    site = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Loose)
    there = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
    assert sorted(menu(site["nav"])) == there


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings_that_are_there(page):
    lost = []
    for link in LINK.findall(without_code(page.read_text("utf-8"))):
        path, _, anchor = link.partition("#")
        file = page.parent / path if path else page
        found = file.exists() and (
            not anchor or anchor in anchors(file.read_text("utf-8"))
        )
        lost += [] if found else [link]
    assert not lost


def test_pages_of_the_site_link_only_within_it():
    for page in DOCS.rglob("*.md"):
        for link in LINK.findall(without_code(page.read_text("utf-8"))):
            target = (page.parent / link.partition("#")[0]).resolve()
            assert target.is_relative_to(DOCS), f"{name_of(page)}: {link}"


def test_every_picture_is_used_described_and_small():
    texts = [page.read_text("utf-8") for page in PAGES]
    for picture in (DOCS / "pictures").iterdir():
        if picture.suffix in MOST_BYTES:
            assert picture.stat().st_size <= MOST_BYTES[picture.suffix], picture.name
        if picture.suffix in (".png", ".gif"):
            assert any(f"pictures/{picture.name}" in text for text in texts)
    assert not [text for text in texts if "![](" in text]


def test_the_python_page_has_every_public_name_and_no_other():
    rows = LISTED.findall((DOCS / "api.md").read_text("utf-8"))
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    named = [name for name in named if not name.endswith("_")]
    assert sorted(named) == treelab.__all__


def test_the_reference_has_every_public_name_and_no_other():
    named = re.findall(r"^::: (\S+)$", (DOCS / "reference.md").read_text(), re.M)
    homes = [f"{treelab._HOMES[name]}.{name}" for name in treelab.__all__]
    assert named == homes


@pytest.mark.parametrize("key", settings_tables.KEYS)
def test_a_learners_page_has_its_settings_as_they_are_declared(key):
    text = (DOCS / "learners" / f"{key}.md").read_text("utf-8")
    hint = "run python docs/settings_tables.py"
    assert text == settings_tables.with_table(text, find_spec(key)), hint
    for heading in ("when-to-use-it", "settings"):
        assert heading in anchors(text)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_that_is_shown_is_one(page):
    parsers = {"treelab": build_parser(), "benchmarks": build_benchmarks()}
    code = "\n".join(map("".join, CODE.findall(page.read_text("utf-8"))))
    for program, line in COMMAND.findall(code):
        words = [word for word in shlex.split(line, comments=True) if word != "--help"]
        parsers[program].parse_args(words)


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed"
)
def test_the_site_is_built_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = (tmp_path / "reference" / "index.html").read_text("utf-8")
    assert "n_restarts" in shown  # from GradTree's settings, by way of its docstring
