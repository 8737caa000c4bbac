"""How long visitors wait: reading tables, placing splits, listing runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from treelab.bench.timing.clock import median_seconds
from treelab.data.builtin import BUILTIN
from treelab.data.encoding.table_encoder import TableEncoder
from treelab.data.problem import make_problem
from treelab.data.reading.read_table import read_table
from treelab.runs.store.run_store import RunStore


def table_rows(steps: int) -> list[dict]:
    """Time each step, print a line for it and return the rows to save."""
    rows = []
    with TemporaryDirectory() as folder, table_steps(Path(folder)) as made:
        for name, step in made.items():
            taken = 1000 * median_seconds(step, steps)
            rows.append({"step": name, "auto_ms": taken})
            print(f"{name}: {taken:.0f} ms")
    return rows


@contextmanager
def table_steps(folder: Path) -> Iterator[dict[str, Callable[[], object]]]:
    """Yield the steps by name; what they need is written to an empty folder."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(50_000, 9)).round(3))
    words = {f"w{j}": rng.choice([*"abc"], 50_000) for j in range(6)}
    content = table.assign(**words).to_csv(index=False).encode()

    many = pd.DataFrame({"word": rng.integers(0, 10_000, 30_000).astype(str)})
    target = rng.integers(0, 2, len(many))

    wide = pd.DataFrame(rng.normal(size=(40_000, 60)).round(3))
    encoder = TableEncoder("quantile", task="binary")
    encoder.fit_transform(wide, rng.integers(0, 2, len(wide)))
    feature = rng.integers(0, 60, 1024 * 31)
    threshold = rng.normal(size=len(feature)).astype(np.float32)

    store = RunStore(folder)
    iris = BUILTIN["iris"]
    frame = iris.load()
    problem = make_problem(
        frame,
        iris.target,
        table_id=store.add_table(frame, "iris"),
        table_name="iris",
    )
    for _ in range(100):
        store.create("cart", {}, problem)

    yield {
        "read 50,000 rows of 15 columns": lambda: read_table(content, "t.csv"),
        "encode 10,000 categories in 30,000 rows": lambda: TableEncoder(
            task="binary", random_state=0
        ).fit_transform(many, target),
        "place 31,744 splits in 40,000 rows": lambda: encoder.axis_splits(
            feature, threshold
        ),
        "list 100 runs": store.runs,
    }
