"""Text for pictures: cut to length, safe in HTML."""

import html


def escape_html(text: object) -> str:
    """Return text that plotly shows as it stands, whatever a table's columns hold."""
    # Plotly would read a dollar sign pair as LaTeX.
    return html.escape(str(text), quote=False).replace("$", "&#36;")


def shorten(text: object, length: int) -> str:
    """Return text of at most ``length`` characters, cut at its end with an ellipsis."""
    text = str(text)
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
