"""The house: who may import whom, what loads late, which words it uses."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("treelab", "pages", "benchmarks")
FILES = sorted(path for room in ROOMS for path in ROOT.glob(f"{room}/**/*.py"))
METHODS = sorted(
    folder.name
    for folder in (ROOT / "treelab" / "learners").iterdir()
    if (folder / "settings.py").exists() and folder.name != "common"
)

PAGES = [f"pages.{path.stem}" for path in sorted(ROOT.glob("pages/*.py"))]

# What a layer may know of treelab beside itself, layers or single names; pages, on top,
# may know everything.
LAYERS = {
    "ops": set(),
    "trees": set(),
    "training": set(),
    "data": {"trees"},
    "evaluation": {"trees", "data"},
    "editing": {"trees"},
    "learners": {"ops", "training", "trees", "data", "evaluation"},
    "figures": {"trees", "evaluation"},
    "runs": {"learners", "training", "trees", "data", "evaluation", "editing"},
    "reports": {"runs", "figures", "learners", "trees", "data", "evaluation"},
    "bench": {"learners", "ops", "training", "trees", "data", "evaluation", "runs"},
    "cli": {"runs", "learners", "training", "trees", "data", "evaluation", "reports"}
    | {"bench", "editing"},
    "__main__": {"cli"},
    "__init__": set(),
}

# The packages of others that a layer may use; a layer not listed may use any.
OUTSIDE = {
    "ops": {"torch", "numpy", "numba", "entmax", "triton"},
    "trees": {
        *("numpy", "pandas", "pyarrow", "narwhals", "safetensors", "scipy", "onnx")
    },
    "training": {"torch", "pandas", "numpy", "safetensors"},
    "editing": {"numpy"},
    "data": {
        *("numpy", "pandas", "sklearn", "pyarrow", "charset_normalizer", "scipy"),
        *("python_calamine", "pyreadstat", "xlsxwriter", "duckdb"),
    },
    "figures": {"numpy", "pandas", "plotly", "graphviz"},
}

# Inside the layers: what a room (a folder or a file) must not know, at the top of a
# file or inside a function.
STRANGERS = {
    "treelab.learners.common": [f"treelab.learners.{name}" for name in METHODS],
    **{
        f"treelab.learners.{name}": [
            "treelab.learners.registry",
            *(f"treelab.learners.{other}" for other in METHODS if other != name),
        ]
        for name in METHODS
    },
    "treelab.trees.tree": [
        "treelab.trees.text",
        "treelab.trees.code",
        "treelab.trees.pruning",
    ],
    "treelab.data.problem": ["treelab.data.problem_check"],
    "treelab.runs.store": [
        "treelab.runs.jobs",
        "treelab.runs.workers",
        "treelab.runs.care",
    ],
    "treelab.runs.jobs": ["treelab.runs.workers"],
    "pages.state": ["pages.widgets", *PAGES],
    "pages.cached": ["pages.widgets", *PAGES],
    "pages.widgets": PAGES,
}

# What the app imports before anybody trains, and what the worker of quick learners
# does, which has a newcomer's first tree; none of it may load torch.
LIGHT = [
    "treelab",
    "treelab.trees.tree",
    "treelab.trees.io",
    "treelab.data.encoding",
    "treelab.data.builtin",
    "treelab.runs.store.run_store",
    "treelab.runs.workers.queue",
    "treelab.figures.curves",
    "treelab.learners.registry",
    "treelab.learners.cart.estimators",
    "treelab.learners.optimal.estimators",
]

# Each of these has a name in the field; docs and git log know them, the code does not.
HOME_MADE = re.compile(
    r"(?<![a-z])(told|taught|lessons?|leans?|whole_trees|crew|stamps?|stamped"
    r"|looked_at|left_over|planted)(?![a-z])",
    re.IGNORECASE,
)


@cache
def module_of(path: Path) -> str:
    """Full name of the module in a file; a package has the name of its folder."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(
        ".__init__"
    )


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"))


@cache
def imported(path: Path) -> frozenset[str]:
    """Full names of what a file imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def inside(name: str, room: str) -> bool:
    """Whether a module, or a name in it, is in a room."""
    return name == room or name.startswith(f"{room}.")


def files_of(room: str) -> list[Path]:
    """Files of a room, at least one."""
    files = [path for path in FILES if inside(module_of(path), room)]
    assert files, f"there is no {room}"
    return files


def layer_files(layer: str) -> list[Path]:
    """Files of a layer, a folder or a file of treelab."""
    home = ROOT / "treelab" / layer
    return sorted(home.rglob("*.py")) if home.is_dir() else [home.with_suffix(".py")]


def may_import(name: str, known: list[str], packages: set[str] | None) -> bool:
    """Whether a layer may import a name, given its rooms of treelab and packages."""
    top = name.split(".")[0]
    if top == "treelab":
        return name == top or any(inside(name, room) for room in known)
    if top in ("streamlit", "pages", "app"):
        return False
    return packages is None or top in packages | sys.stdlib_module_names


def test_every_layer_is_known():
    home = ROOT / "treelab"
    found = {
        path.stem
        for path in home.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert found == set(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_one_way(layer):
    known = [f"treelab.{name}" for name in LAYERS[layer] | {layer}]
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in layer_files(layer)
        for name in imported(path)
        if not may_import(name, known, OUTSIDE.get(layer))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", STRANGERS)
def test_rooms_of_a_layer_know_each_other_one_way(room):
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files_of(room)
        for name in imported(path)
        if any(inside(name, stranger) for stranger in STRANGERS[room])
    ]
    assert not wrong, "\n".join(wrong)


def test_imports_run_in_no_circle():
    modules = {module_of(path): path for path in FILES}

    def known(name: str) -> str | None:
        """The module that a name is, or lies in."""
        home = name if name in modules else name.rpartition(".")[0]
        return home if home in modules else None

    def imported_at_run_time(path: Path) -> set[str]:
        """Modules that a file imports, at its top or in a function."""
        tree = parsed(path)
        for_types = {
            inner
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for inner in ast.walk(node)
        }
        names = set()
        for node in set(ast.walk(tree)) - for_types:
            if isinstance(node, ast.ImportFrom):
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
        return {home for home in map(known, names) if home} - {module_of(path)}

    graph = {name: imported_at_run_time(path) for name, path in modules.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_words_are_those_of_the_field():
    wrong = []
    for path in FILES:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", line)
            for word in HOME_MADE.findall(words):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {word}")
    assert not wrong, "\n".join(wrong)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter at the top of the house."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )


def test_what_the_app_imports_loads_no_torch():
    checks = [
        f"import {name}\nif 'torch' in sys.modules: sys.exit('{name} loads torch')"
        for name in LIGHT
    ]
    done = run_python("\n".join(["import sys", *checks]))
    assert done.returncode == 0, done.stderr


def test_importing_treelab_prints_nothing():
    done = run_python("import treelab; dir(treelab)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
