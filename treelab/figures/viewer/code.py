"""The viewer's script and style as one text each, for a page or a component.

The script is kept as small modules in ``assets/viewer``. A browser that gets it as text
cannot follow their imports, so the modules are joined, in the order that
``order.json`` states, within one function.
"""

import json
import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./[a-z]+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)


def viewer_folder() -> Traversable:
    """Return the folder of the modules: inside a wheel's package, or the checkout's."""
    installed = files("treelab.figures.viewer") / "assets"
    if installed.is_dir():
        return installed
    return Path(__file__).parents[3] / "assets" / "viewer"


@cache
def viewer_script() -> str:
    """Return JavaScript that defines ``treelabViewer.mount(root, options)``.

    Raises
    ------
    ValueError
        If a module has an import or export of a form that cannot be joined.
    """
    folder = viewer_folder()
    names = json.loads((folder / "order.json").read_text("utf-8"))
    parts = [joined((folder / name).read_text("utf-8"), name) for name in names]
    body = "\n".join(parts)
    return (
        'const treelabViewer = (() => {\n"use strict";\n'
        f"{body}\nreturn {{ mount }};\n}})();\n"
    )


def joined(source: str, name: str) -> str:
    """Return a module's source as it stands among the others, without import, export.

    Raises
    ------
    ValueError
        If it has an import or export of another form, or would end a script element.
    """
    source = _EXPORT.sub("", _IMPORT.sub("", source))
    if re.search(r"^\s*(?:import|export)\b", source, re.MULTILINE):
        raise ValueError(f"{name} has an import or export that cannot be joined.")
    if re.search(r"</script|<!--", source, re.IGNORECASE):
        raise ValueError(f"{name} holds text that would end a script in a page.")
    return source


@cache
def viewer_style() -> str:
    """Return the viewer's style sheet."""
    return (viewer_folder() / "viewer.css").read_text("utf-8")
