"""What lies in a data folder beside its database: how a lost database is noticed."""

from pathlib import Path

from treelab.trees.words import counted

WAY_OUT = (
    "Put a backup in its place. Without one, `python -m treelab doctor --repair` lists "
    "the tables again; models stay in their folders, from which `python -m treelab "
    "import` reads them."
)


def remains(home: Path) -> str:
    """Count the runs with trees and the tables of a data folder; "" for none."""
    n_runs = sum(map(holds_trees, home.glob("runs/*")))
    n_tables = sum(1 for _ in home.glob("tables/*.parquet"))
    words = [counted(n_runs, "run folder")] * (n_runs > 0)
    return " and ".join(words + [counted(n_tables, "table")] * (n_tables > 0))


def holds_trees(folder: Path) -> bool:
    """Whether a run's folder holds trees: a model, or some of its training."""
    return any(path.suffix in (".json", ".safetensors") for path in folder.rglob("*"))
