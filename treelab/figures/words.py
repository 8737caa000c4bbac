"""Short words for pictures: cut to length, safe in HTML, numbers of three digits."""

import html

import numpy as np


def escape_html(text: object) -> str:
    """Return text that plotly shows as it stands, whatever a table's columns hold."""
    # Plotly would read a dollar sign pair as LaTeX.
    return html.escape(str(text), quote=False).replace("$", "&#36;")


def shorten(text: object, length: int) -> str:
    """Return text of at most ``length`` characters, cut at its end with an ellipsis."""
    text = str(text)
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def number(value: float, digits: int = 3) -> str:
    """Return a number with ``digits`` significant digits and no exponent if it can.

    Parameters
    ----------
    value : float
        May be infinite or NaN.
    digits : int, default=3
        Significant digits, at least 1; digits before the point are never cut.

    Returns
    -------
    str
        As a person writes it: "0.953", "1,520", "−0.0041", "2.1e-07", "no value".
    """
    if np.isnan(value):
        return "no value"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    exponent = int(np.floor(np.log10(abs(float(f"{value:.{digits - 1}e}")))))
    if -5 < exponent < 9:
        text = f"{value:,.{max(digits - 1 - exponent, 0)}f}"
    else:
        text = f"{value:.{digits - 1}e}"
    return text.replace("-", "−", 1) if value < 0 else text


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: "1 leaf", "1,024 trees"."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
