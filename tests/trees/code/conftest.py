"""Databases for the tests of exported SQL, and an evaluator of PMML."""

import shutil

import pandas as pd
import pytest

from tests.runs.store import postgres
from tests.trees.code import engines
from treelab.trees.code import to_pmml


@pytest.fixture(scope="session")
def postgresql():
    """Address of a PostgreSQL server."""
    with postgres.started() as url:
        yield url


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def engine(request) -> engines.Engine:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return engines.Sqlite()
    if request.param == "duckdb":
        return engines.DuckDb()
    return engines.PostgreSql(request.getfixturevalue("postgresql"))


@pytest.fixture(scope="session")
def jpmml():
    """PMML's reference evaluator, in Java, as a function of a model and a table.

    Cells are passed as they are, NaN as NaN. It returns a data frame: the prediction,
    the probability of each class, and ``errors`` where there are some.
    """
    if shutil.which("java") is None:
        pytest.skip("Java is not installed.")
    evaluator = pytest.importorskip("jpmml_evaluator")
    from jpmml_evaluator.py4j import Py4JBackend

    def evaluate(tree, table: pd.DataFrame) -> pd.DataFrame:
        model = evaluator.make_evaluator(to_pmml(tree).encode(), Py4JBackend())
        names = [field.getName() for field in model.getInputFields()]
        return model.evaluateAll(table[names], nan_as_missing=False)

    with pytest.MonkeyPatch.context() as patch:
        # Little is computed: to compile it well takes longer than all the rest.
        options = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        patch.setenv("JAVA_TOOL_OPTIONS", options)
        Py4JBackend.ensureGateway()
    yield evaluate
    Py4JBackend.destroyGateway()
