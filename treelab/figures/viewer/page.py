"""One HTML file that holds an interactive tree: it opens anywhere, without a server."""

import html
from collections.abc import Iterable, Mapping

from treelab.figures.style.colors import palette
from treelab.figures.viewer.code import viewer_script, viewer_style
from treelab.figures.viewer.payload import to_json, view_settings

# Nothing is loaded, from anywhere: all that the page needs is in it.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)


def viewer_page(
    payload: dict, *, text: str = "", captions: Iterable[str] = (), **options
) -> str:
    """Return a whole HTML page with the tree of a payload.

    Parameters
    ----------
    payload : dict
        As ``tree_payload`` returns it.
    text : str, default=""
        The tree as text, folded away below the picture; it can be read without a
        script as well.
    captions : iterable of str, default=()
        Sentences below the title, such as a score and the rows it was measured on.
    **options
        As in ``view_settings``: direction, depth, ...

    Returns
    -------
    str
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
    """Return a whole HTML page that draws trees in some of its elements.

    Parameters
    ----------
    title : str
        Of the window.
    body : str
        HTML of the page's main part.
    trees : mapping of str to dict
        What the viewer draws, a payload with its view settings, by the id of the
        element that it is drawn in.
    style : str, default=""
        CSS besides the page's own.

    Returns
    -------
    str
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

    Raises
    ------
    ValueError
        If a number is infinite or missing, which JSON cannot hold.
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
