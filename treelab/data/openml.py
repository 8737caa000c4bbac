"""Tables of openml.org: fetched when a person asks for one, cached, read as any file.

OpenML is described in Vanschoren et al., "OpenML: networked science in machine
learning", SIGKDD Explorations 15(2), 2014. The tables listed here are those of Marton
et al., "GRANDE", ICLR 2024, table 5.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from treelab.data.reading.formats.guarded import run_guarded
from treelab.data.reading.read_table import ReadResult, read_table
from treelab.data.reading.table_error import TableError
from treelab.trees.cells import CellForm

PREFIX = "openml:"  # of a table that the command line is to fetch
NAME = re.compile(r"[A-Za-z0-9_()-][A-Za-z0-9_.()-]*")  # it becomes part of a path

# Name and OpenML's number of each table of the GRANDE paper, the smallest first.
CATALOGUE = {
    "dresses-sales": 23381,
    "climate-simulation-crashes": 40994,
    "cylinder-bands": 6332,
    "wdbc": 1510,
    "ilpd": 1480,
    "tokyo1": 40705,
    "qsar-biodeg": 1494,
    "ozone-level-8hr": 1487,
    "madelon": 1485,
    "Bioresponse": 4134,
    "wilt": 40983,
    "churn": 40701,
    "phoneme": 1489,
    "SpeedDating": 40536,
    "PhishingWebsites": 4534,
    "Amazon_employee_access": 4135,
    "nomao": 1486,
    "adult": 1590,
    "numerai28.6": 23517,
}


def read_openml(
    named: str,
    folder: Path,
    as_in: Mapping[str, CellForm] | None = None,
    **options: Any,
) -> tuple[ReadResult, str]:
    """Fetch a table from OpenML, or read it from the cache; needs a network once.

    ``named`` is OpenML's number of the table, or its name: one of ``CATALOGUE`` is the
    table of that number, another one OpenML's oldest active table of the name. What was
    fetched is cached in ``folder``; ``as_in`` is that of ``read_table``, and so are the
    ``options``, what is said of cells.

    Returned are the table, its target the last column, and its name with its number.
    TableError if there is no such table, OpenML cannot be reached, or it takes too
    long.
    """
    named = named.strip()
    if not named:
        raise TableError(
            "Name a table of OpenML, or give its number. Those of the GRANDE paper: "
            f"{', '.join(CATALOGUE)}."
        )
    if not NAME.fullmatch(named):
        raise TableError(
            f"OpenML has no table {named!r}: names have letters, digits and . _ ( ) -"
        )
    wanted = str(CATALOGUE.get(named, named))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about, written = run_guarded(
        "openml_process", b"", wanted, folder=str(folder), asked=named
    )
    found = read_table(written, about["title"], as_in=as_in, **options)
    notes = [*about["notes"], *found.notes]
    return replace(found, notes=notes), about["title"]
