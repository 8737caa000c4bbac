"""The tree viewer's page: its words, legend, notes and code."""

import html
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from treelab.figures.style import palette
from treelab.figures.viewer.payload import to_json, tree_payload, view_settings
from treelab.trees.text import to_text
from treelab.trees.tree import Tree

# The viewer's script and style as one text each, for a page or a component.
#
# The script is kept as small modules in ``assets/viewer``. A browser that gets it as
# text cannot follow their imports, so the modules are joined, in the order that
# ``order.json`` states, within one function.


_IMPORT = re.compile(r'^import \{[^}]*\} from "\./[a-z]+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)


def viewer_folder() -> Traversable:
    """Return the folder of the modules: of a wheel's dashboard, or the checkout's."""
    installed = files("treelab") / "dashboard" / "assets" / "viewer"
    if installed.is_dir():
        return installed
    return Path(__file__).parents[3] / "assets" / "viewer"


@cache
def viewer_script() -> str:
    """Return JavaScript that defines ``treelabViewer.mount(root, options)``.

    ValueError if a module has an import or export of a form that cannot be joined.
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

    ValueError if it has one of another form, or would end a script element.
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


# One HTML file that holds an interactive tree: it opens anywhere, without a server.


# Nothing is loaded, from anywhere: all that the page needs is in it.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)


def viewer_page(
    payload: dict, *, text: str = "", captions: Iterable[str] = (), **options
) -> str:
    """Return a whole HTML page with the tree of a payload, as of ``tree_payload``.

    The tree as text is folded away below the picture; it can be read without a script
    as well. Captions are sentences below the title, such as a score and the rows it was
    measured on. Options are those of ``view_settings``.
    """
    # The title is the page's heading; saved pictures have it, too.
    options = {"controls": True, "height": 720, "heading": False} | options
    data = payload | view_settings(**options)
    title = payload["title"] or payload["target"]["name"]
    lines = "".join(f"<p>{html.escape(line)}</p>\n" for line in captions)
    twin = ""
    if text:
        twin = (
            "<details><summary>The tree as text</summary>"
            f"<pre>{html.escape(text)}</pre></details>\n"
        )
    body = f"""<h1>{html.escape(title)}</h1>
{lines}<div id="tree" class="tree"></div>
<noscript><p>The picture needs JavaScript; the text below does not.</p></noscript>
{twin}"""
    return document(title, body, {"tree": data})


def document(
    title: str, body: str, trees: Mapping[str, dict], *, style: str = ""
) -> str:
    """Return a whole HTML page, so titled, that draws trees in some of its elements.

    The body is HTML of the page's main part, ``style`` CSS besides the page's own.
    Trees are what the viewer draws, payloads with their view settings, by the ids of
    elements.
    """
    scripts = "\n".join(
        f'<script type="application/json" id="{name}-data">{script_json(data)}</script>'
        for name, data in trees.items()
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{html.escape(title)}</title>
<style>
{_page_style()}{style}
{viewer_style()}
</style>
</head>
<body>
<main>
{body}</main>
{scripts}
<script>
{viewer_script()}
for (const script of document.querySelectorAll('script[type="application/json"]')) {{
  const data = JSON.parse(script.textContent);
  const root = document.getElementById(script.id.replace(/-data$/, ""));
  treelabViewer.mount(root, {{ data }});
}}
</script>
</body>
</html>
"""


def script_json(data: dict) -> str:
    """Return JSON that cannot end the script element it stands in, whatever it holds.

    ValueError if a number is infinite or missing, which JSON cannot hold.
    """
    # Within a script element only "<" can begin a tag or a comment.
    return to_json(data).replace("<", "\\u003c")


def _page_style() -> str:
    """Return the style of the page around the picture, light and dark."""
    light, dark = palette("light"), palette("dark")
    names = ("background", "panel", "text", "muted", "line")
    variables = "".join(
        f"--page-{name}:light-dark({getattr(light, name)},{getattr(dark, name)});"
        for name in names
    )
    return (
        "body{margin:0;font:16px/1.5 system-ui,sans-serif}"
        "main{max-width:1400px;margin:0 auto;padding:1.5rem}"
        "h1{font-size:1.5rem;font-weight:600;margin:0 0 .5rem}"
        "p{margin:.25rem 0;color:var(--page-muted)}"
        ".tree{margin:1rem 0}"
        "summary{cursor:pointer}pre{overflow-x:auto}"
        "body{background:var(--page-background);color:var(--page-text)}"
        f":root{{color-scheme:light dark;{variables}}}"
    )


# A tree as a notebook shows it: the interactive viewer in a frame of its own.


_HEIGHT = 860  # pixels: the picture, its title and what is folded away


def notebook_html(tree: Tree) -> str:
    """Return HTML that shows a tree in a cell's output, whatever else is there.

    The frame runs the viewer's script and has no access to the notebook.
    """
    text = to_text(tree)
    page = viewer_page(tree_payload(tree), text=text)
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" sandbox="allow-scripts '
        f'allow-downloads" title="Decision tree that predicts '
        f'{html.escape(tree.target, quote=True)}" '
        f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
    )
