"""A tree, or the ensemble that it is one of, as files: code, text, data, a picture."""

import json
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

from treelab.figures.layout import picture_file
from treelab.trees.code import LANGUAGES, ensemble_languages, to_onnx, tree_languages
from treelab.trees.dot import to_dot
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning_path import Model
from treelab.trees.text import to_text
from treelab.trees.tree import Tree

TreeFile = tuple[str, Callable, str]  # its ending, what writes it, its MIME type
WHOLE = "The whole ensemble"
HAS_ONNX = find_spec("onnx") is not None
_BINARY = "application/octet-stream"


def picture_files(tree: Tree) -> dict[str, TreeFile]:
    """Return the kinds of pictures that Graphviz draws of a tree, by their titles."""

    def picture(kind: str):
        return picture_file(to_dot(tree), kind)

    return {
        "Picture (SVG)": ("svg", partial(picture, "svg"), "image/svg+xml"),
        "Picture (PDF)": ("pdf", partial(picture, "pdf"), "application/pdf"),
    }


def tree_files(model: Model, tree: Tree) -> dict[str, TreeFile]:
    """Return the kinds of files of a model's tree, and of the model, by their titles.

    The tree is the one that is drawn; it is not written as code where a predictor on
    top makes the model's predictions.
    """
    files: dict[str, TreeFile] = {
        "Picture (DOT)": ("dot", partial(to_dot, tree), "text/vnd.graphviz")
    }
    if not model.has_predictor:
        for name in tree_languages(tree):
            title, ending, write = LANGUAGES[name]
            files[title] = ending, partial(write, tree), "text/plain"
        if HAS_ONNX and len(tree.read):  # without a column ONNX has no rows
            files["ONNX"] = "onnx", partial(to_onnx, tree), _BINARY
    if isinstance(model, WeightedTrees):
        for name in ensemble_languages(model):
            title, ending, write = LANGUAGES[name]
            files[f"{WHOLE} as a {title}"] = ending, partial(write, model), "text/plain"
        if HAS_ONNX:
            files[f"{WHOLE} as ONNX"] = "onnx", partial(to_onnx, model), _BINARY
    files["Rules (text)"] = "txt", partial(to_text, tree), "text/plain"
    files["Model (treelab.load)"] = "treelab", model.to_bytes, "application/zip"
    stored = model if model.has_predictor else tree

    def data() -> str:
        return json.dumps(stored.to_dict(), indent=1)

    files["Data (JSON)"] = "json", data, "application/json"
    return files
