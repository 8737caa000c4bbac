"""Tables of OpenML are fetched once, cached, and refused in a sentence."""

import gzip
import hashlib
import io
import json
from email.message import Message
from urllib.error import HTTPError, URLError

import pytest
from sklearn.datasets import _openml

from treelab.data import openml
from treelab.data.openml import CATALOGUE, read_openml
from treelab.data.reading.formats import openml_process
from treelab.data.reading.table_error import TableError

ARFF = "@relation flowers\n@attribute kind {rose,lily}\n@attribute size real\n@data\n"
ARFF += "".join(f"{'rose' if i % 3 else 'lily'},{i / 4}\n" for i in range(40))
NUMBER = CATALOGUE["wdbc"]


def feature(index: str, name: str, kind: str, **more: str) -> dict:
    return {
        "index": index,
        "name": name,
        "data_type": kind,
        "is_target": "false",
        "is_ignore": "false",
        "is_row_identifier": "false",
        "number_of_missing_values": "0",
        **more,
    }


def answers() -> dict[str, str]:
    """What OpenML says of one small table, by the end of the address."""
    described = {
        "id": str(NUMBER),
        "name": "flowers",
        "version": "1",
        "format": "ARFF",
        "status": "active",
        "description": "made up",
        "url": f"https://api.openml.org/data/v1/download/{NUMBER}/flowers.arff",
        "file_id": str(NUMBER),
        "md5_checksum": hashlib.md5(ARFF.encode()).hexdigest(),
    }
    target = feature("0", "kind", "nominal", is_target="true", nominal_value=[])
    features = [target, feature("1", "size", "numeric")]
    rows = {"name": "NumberOfInstances", "value": "40.0"}
    listed = {"did": NUMBER, "version": 1, "status": "active"}
    return {
        f"/data/{NUMBER}": json.dumps({"data_set_description": described}),
        f"/features/{NUMBER}": json.dumps({"data_features": {"feature": features}}),
        f"/qualities/{NUMBER}": json.dumps({"data_qualities": {"quality": [rows]}}),
        "flowers.arff": ARFF,
        "/flowers/limit/2/status/active/": json.dumps(
            {"data": {"dataset": [listed, {**listed, "did": 7, "version": 2}]}}
        ),
    }


class Reply(io.BytesIO):
    """What a server sends, packed."""

    def info(self) -> dict:
        return {"Content-Encoding": "gzip"}


@pytest.fixture
def server(monkeypatch):
    """OpenML in this process; its list of the addresses that were asked for."""
    asked: list[str] = []

    def urlopen(request, *given, **more):
        asked.append(request.full_url)
        for end, text in answers().items():
            if request.full_url.endswith(end):
                return Reply(gzip.compress(text.encode()))
        raise HTTPError(request.full_url, 412, "unknown", Message(), io.BytesIO())

    def run_here(module, content, name, **choices):
        return openml_process.fetch(content, name, **choices)

    monkeypatch.setattr(_openml, "urlopen", urlopen)
    monkeypatch.setattr(openml_process.socket, "setdefaulttimeout", lambda _: None)
    monkeypatch.setattr(openml, "run_guarded", run_here)
    return asked


@pytest.mark.parametrize("named", ["wdbc", str(NUMBER), "flowers"])
def test_a_table_is_fetched_once_and_its_target_stands_last(server, tmp_path, named):
    read, title = read_openml(named, tmp_path)
    assert title == f"flowers (OpenML {NUMBER})"
    assert [*read.frame.columns] == ["size", "kind"]
    assert read.frame["size"].tolist() == [i / 4 for i in range(40)]
    assert read.frame["kind"].value_counts()["rose"] == 26
    assert ("several tables" in " ".join(read.notes)) == (named == "flowers")
    assert server
    server.clear()
    again, _ = read_openml(named, tmp_path)
    assert not server
    assert again.frame.equals(read.frame)


def test_a_table_that_openml_has_not_is_refused(server, tmp_path):
    for named in ("nothing-of-the-kind", "99999999", "..", "a b"):
        with pytest.raises(TableError, match=f"OpenML has no table '{named}'"):
            read_openml(named, tmp_path)
    with pytest.raises(TableError, match="Those of the GRANDE paper: dresses-sales"):
        read_openml(" ", tmp_path)


@pytest.mark.parametrize("named", ["adult", "somewhere"])
def test_without_a_network_it_says_so_at_once(server, tmp_path, monkeypatch, named):
    slept = []
    monkeypatch.setattr(_openml.time, "sleep", slept.append)

    def no_network(*given, **more):
        raise URLError("no route to host")

    monkeypatch.setattr(_openml, "urlopen", no_network)
    with pytest.raises(TableError, match="OpenML cannot be reached"):
        read_openml(named, tmp_path)
    assert not slept


@pytest.mark.slow
def test_it_is_fetched_in_a_process_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # where nobody listens
    with pytest.raises(TableError, match="OpenML cannot be reached"):
        read_openml("adult", tmp_path)
