"""Benchmark tables: a folder of CSV files and the manifest that describes them."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class BenchTable:
    """One table of a benchmark folder.

    Attributes
    ----------
    name : str
    path : Path
        CSV file, perhaps compressed, with a header; empty cells are missing.
    task : {"binary", "multiclass", "regression"}
    target : str
        Column to predict.
    categorical : tuple of str
        Columns to read as text even where they look like numbers.
    papers : tuple of str
        Keys of the papers that use the table.
    reference : dict
        The papers' own figures.
    """

    name: str
    path: Path
    task: str
    target: str
    categorical: tuple[str, ...] = ()
    papers: tuple[str, ...] = ()
    reference: dict = field(default_factory=dict)

    def load(self) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the features and the target (n_rows,)."""
        text = dict.fromkeys(self.categorical, str)
        if self.task != "regression":
            text[self.target] = str
        frame = pd.read_csv(
            self.path, dtype=text, keep_default_na=False, na_values=[""]
        )
        return frame.drop(columns=self.target), frame[self.target].to_numpy()


def read_manifest(folder: str | Path) -> list[BenchTable]:
    """List the tables that ``manifest.json`` in a folder describes.

    Raises
    ------
    ValueError
        If there is no manifest, or it is not one.
    """
    folder = Path(folder)
    path = folder / "manifest.json"
    if not path.is_file():
        raise ValueError(
            f"There is no {path}; --data must name a folder with a manifest.json, a "
            "list of tables with name, file, task and target."
        )
    try:
        return [
            BenchTable(
                name=entry["name"],
                path=folder / entry["file"],
                task=entry["task"],
                target=entry["target"],
                categorical=tuple(entry.get("categorical", ())),
                papers=tuple(entry.get("papers", ())),
                reference=entry.get("reference", {}),
            )
            for entry in json.loads(path.read_text())
        ]
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no list of tables: {error!r}.") from error


def choose(
    tables: list[BenchTable],
    paper: str | None,
    tasks: tuple[str, ...],
    names: str | None,
) -> list[BenchTable]:
    """Return the tables of a paper and of some tasks, or those that are named.

    Parameters
    ----------
    paper : str or None
        None takes the tables of every paper.
    names : str or None
        Names joined by commas; None takes every table of the paper.

    Raises
    ------
    ValueError
        If a name is unknown or its task does not fit.
    """
    fitting = {t.name: t for t in tables if t.task in tasks}
    if names is None:
        return [t for t in fitting.values() if paper is None or paper in t.papers]
    chosen = []
    for name in names.split(","):
        if name not in fitting:
            raise ValueError(
                f"There is no table {name!r} for this benchmark; there are "
                f"{', '.join(fitting)}."
            )
        chosen.append(fitting[name])
    return chosen
