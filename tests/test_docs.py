"""What the documents name is there, and what they show works."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXTS = ["README.md", "CONTRIBUTING.md", "docs/architecture.md"]
BLOCK = re.compile(r"```python\n# (\S+)\n(.*?)```", re.DOTALL)
NAMED = re.compile(r"`((?:treelab|pages|tests|assets|docs)(?:/[\w.-]+)+)`")
PLACE = re.compile(r"^\| .+ \| `([\w/]+\.py)` \| (?:`([\w.]+)`)? ?\|$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


TEXT = {name: (ROOT / name).read_text("utf-8") for name in TEXTS}


def shown_files() -> dict[str, str]:
    """The files that CONTRIBUTING.md writes out, by path."""
    return dict(BLOCK.findall(TEXT["CONTRIBUTING.md"]))


def names_in(path: Path) -> set[str]:
    """Names that a file defines at its top, and in its classes as Class.name."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{inner.name}" for inner in node.body
                      if isinstance(inner, ast.FunctionDef)}  # fmt: skip
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets
                      if isinstance(target, ast.Name)}  # fmt: skip
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_every_file_that_is_named_is_there(text):
    named = {ROOT / name for name in NAMED.findall(TEXT[text])}
    named |= {(ROOT / text).parent / link for link in LINK.findall(TEXT[text])}
    shown = {ROOT / name for name in shown_files()}
    shown |= {path.parent for path in shown}
    shown.add(ROOT / "tests" / "learners" / "stump")
    assert named
    assert not [str(path) for path in named - shown if not path.exists()]


def test_what_architecture_points_to_stands_there():
    places = PLACE.findall(TEXT["docs/architecture.md"])
    assert len(places) > 30
    missing = [
        f"{path}: {name}"
        for path, name in places
        if not (ROOT / path).exists() or (name and name not in names_in(ROOT / path))
    ]
    assert not missing


def test_architecture_names_every_room():
    words = TEXT["docs/architecture.md"]
    files = [*ROOT.glob("treelab/*/**/*.py"), *ROOT.glob("pages/**/*.py")]
    rooms = {path.parent for path in files if path.name != "__init__.py"}
    names = {room.relative_to(ROOT).as_posix() for room in rooms}
    assert not [name for name in names if f"`{name}`" not in words]


@pytest.fixture(scope="module")
def extended(tmp_path_factory) -> Path:
    """A copy of the checkout with what CONTRIBUTING.md adds to it."""
    copy = tmp_path_factory.mktemp("copy") / "treelab"
    parts = ["treelab", "pages", "tests", "assets", "app.py", "pyproject.toml"]
    parts += [".streamlit", "requirements.txt", "README.md"]
    copy.mkdir()
    for name in parts:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, copy)
    for name, text in shown_files().items():
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text(text, "utf-8")
    registry = copy / "treelab" / "learners" / "registry.py"
    insert(
        registry,
        "from treelab.learners.grande.settings import SPEC as GRANDE\n",
        "from treelab.learners.stump.settings import SPEC as STUMP\n",
    )
    insert(registry, "GRANDE, GET, ARGMIN", ", STUMP")
    code = copy / "treelab" / "trees" / "code" / "__init__.py"
    insert(
        code,
        "from treelab.trees.code.c import to_c\n",
        "from treelab.trees.code.mermaid import to_mermaid\n",
    )
    insert(code, '    "pmml": ("PMML", "pmml", to_pmml),\n', shown_line('"mermaid"', 4))
    formats = copy / "treelab" / "data" / "reading" / "file_format.py"
    insert(formats, "TEXT_FORMATS = {\n", shown_line('"logfmt"', 4))
    first = "page = st.navigation(\n    [\n"
    insert(copy / "app.py", first, shown_line("st.Page", 8))
    return copy


def shown_line(start: str, indent: int) -> str:
    """The one line of CONTRIBUTING.md, set apart, that begins so; indented."""
    (line,) = (
        own.strip()
        for own in TEXT["CONTRIBUTING.md"].splitlines()
        if own.startswith(f"    {start}")
    )
    return " " * indent + line + "\n"


def insert(path: Path, after: str, text: str) -> None:
    """Write text into a file, behind other text that stands there once."""
    whole = path.read_text("utf-8")
    assert whole.count(after) == 1
    path.write_text(whole.replace(after, after + text), "utf-8")


def run(folder: Path, *command: str) -> str:
    """Run a Python module in a folder; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "TREELAB_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_what_contributing_shows_is_written_as_agreed(extended):
    shown = list(shown_files())
    run(extended, "ruff", "check", *shown)
    run(extended, "ruff", "format", "--check", *shown)


@pytest.mark.slow
def test_what_contributing_shows_passes_its_tests(extended):
    tests = [name for name in shown_files() if name.startswith("tests/")]
    more = ["tests/test_layers.py", "tests/learners/test_registry.py"]
    run(extended, "pytest", "-p", "no:cacheprovider", *tests, *more)


@pytest.mark.slow
def test_the_learner_that_contributing_shows_trains_from_the_shell(extended):
    table = "height,kind\n" + "1,cat\n2,cat\n5,dog\n6,dog\n" * 20
    (extended / "pets.csv").write_text(table, "utf-8")
    options = ["--target", "kind", "--learner", "stump", "--set", "n_thresholds=19"]
    assert "Stump" in run(extended, "treelab", "train", "pets.csv", *options)
