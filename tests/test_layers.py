"""The house's layers: who may import whom, and what stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = {
    "ops": set(),
    "trees": set(),
    "training": set(),
    "data": {"trees"},
    "evaluation": {"trees", "data"},
    "learners": {"ops", "training", "trees", "data", "evaluation"},
    "runs": {"learners", "trees", "data", "evaluation", "training"},
    "figures": {"trees", "evaluation"},
    "reports": {"runs", "figures", "trees", "evaluation"},
    "bench": {
        "learners",
        "ops",
        "training",
        "trees",
        "data",
        "figures",
        "evaluation",
        "runs",
    },
    "cli": {"bench", "runs", "data", "trees", "learners", "evaluation", "training"}
    | {"reports"},
    "__main__": {"cli"},
    "__init__": set(),
}
OUTSIDE = {
    "ops": {"torch", "numpy", "numba", "entmax", "triton"},
    "trees": {"numpy", "pandas", "safetensors", "scipy"},
    "training": {"torch", "pandas", "numpy"},
    "data": {"numpy", "pandas", "sklearn", "pyarrow", "charset_normalizer", "scipy"},
    "figures": {"numpy", "pandas", "plotly", "graphviz"},
}
FILES = sorted((ROOT / "treelab").rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Full names of the modules that a file imports, wherever in the file."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def layer_of(path: Path) -> str:
    """The package or top module of treelab that a file belongs to."""
    return path.relative_to(ROOT / "treelab").parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    layer = layer_of(path)
    for name in imported(path):
        parts = name.split(".")
        if parts[0] in ("streamlit", "pages", "app"):
            pytest.fail(f"{layer} knows {name}; streamlit stays in app.py and pages/")
        if parts[0] == "treelab" and len(parts) > 1:
            assert parts[1] in LAYERS[layer] | {layer}, f"{layer} must not know {name}"
        elif layer in OUTSIDE and parts[0] not in sys.stdlib_module_names:
            assert parts[0] in OUTSIDE[layer] | {"treelab"}, f"{layer} uses {name}"


@pytest.mark.parametrize(
    "module",
    [
        "treelab",
        "treelab.trees.tree",
        "treelab.trees.io",
        "treelab.data.encoding.table_encoder",
        "treelab.data.builtin",
        "treelab.runs.store.run_store",
        "treelab.runs.workers.queue",
        "treelab.figures.curves",
        "treelab.learners.registry",
    ],
)
def test_what_the_app_imports_loads_no_torch(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_importing_treelab_prints_nothing():
    done = subprocess.run(
        [sys.executable, "-c", "import treelab; dir(treelab)"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    assert done.stdout == b""
    assert done.stderr == b""
