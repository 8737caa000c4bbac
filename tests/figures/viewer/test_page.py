"""The page of a tree holds all it needs, and nothing of the table can break out."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from tests.figures.small_trees import stump_and_more
from treelab.figures.viewer.page import (
    joined,
    script_json,
    viewer_page,
    viewer_script,
    viewer_style,
)
from treelab.figures.viewer.payload import tree_payload
from treelab.trees.feature import Feature
from treelab.trees.text import to_text
from treelab.trees.tree import Tree

EVIL = "</script><script>alert(1)</script><!-- \u2028 \" ' & ]]>"


class Elements(HTMLParser):
    """Text of each element, by its name and id, in order."""

    def __init__(self, page: str):
        super().__init__()
        self.found: list[list[str]] = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append([tag, dict(attributes).get("id", ""), ""])

    def handle_data(self, data):
        if self.found:
            self.found[-1][2] += data


def evil_page() -> tuple[str, dict]:
    tree = Tree.complete(
        (Feature(EVIL, unit=EVIL),),
        [0],
        [0.5],
        [True],
        np.eye(2),
        classes=(EVIL, EVIL + "2"),
        target=EVIL,
    )
    X = pd.DataFrame({EVIL: [0.0, 1.0]})
    payload = tree_payload(tree, X, tree.predict(X), title=EVIL)
    return viewer_page(payload, text=to_text(tree), captions=[EVIL]), payload


def test_names_cannot_end_a_script_and_survive():
    page, payload = evil_page()
    elements = Elements(page).found
    assert sum(tag == "script" for tag, _, _ in elements) == 2
    (text,) = [text for tag, name, text in elements if name == "tree-data"]
    data = json.loads(text)
    assert data["trees"] == payload["trees"]
    assert data["target"] == payload["target"]
    assert [tag for tag, _, _ in elements].count("pre") == 1


def test_nothing_is_loaded_from_elsewhere():
    page, _ = evil_page()
    found = Elements(page)
    assert not re.search(r"<(?:link|img|iframe)\b", page)
    assert all(tag != "link" for tag, _, _ in found.found)
    assert "default-src 'none'" in page
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", page))
    assert all(address.startswith("http://www.w3.org/") for address in addresses)


def test_numbers_that_json_does_not_know_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        script_json({"a": float("nan")})


def test_modules_are_joined_without_imports_and_exports():
    source = 'import { a,\n  b } from "./x.js";\n\nexport const c = a;\nconst d = b;\n'
    assert joined(source, "y.js") == "\nconst c = a;\nconst d = b;\n"


@pytest.mark.parametrize(
    "source", ['import x from "./x.js";', "export default 3;", "// </script>"]
)
def test_what_cannot_be_joined_is_refused(source):
    with pytest.raises(ValueError, match=r"y\.js"):
        joined(source, "y.js")


def test_the_joined_script_defines_each_name_once():
    names = re.findall(
        r"^(?:async )?(?:function|const|class|let) (\w+)", viewer_script(), re.MULTILINE
    )
    assert len(names) == len(set(names))
    assert "mount" in names
    assert "</style" not in viewer_style()


def test_a_page_without_rows_is_whole():
    tree, _, _ = stump_and_more()
    assert "</html>" in viewer_page(tree_payload(tree))
