"""Dates in a table: what to say of them, and the month that each lies in."""

import numpy as np


def months(years) -> np.ndarray:
    """Return the month in which each of ``decimal_years`` lies, as text "2019-07".

    Parameters
    ----------
    years : array-like of float, shape (n_rows,)

    Returns
    -------
    ndarray of str, shape (n_rows,)
        "" where the date is missing.
    """
    years = np.asarray(years, dtype=float)
    known = np.isfinite(years)
    whole = np.floor(np.where(known, years, 1970.0))
    start = (whole - 1970).astype("datetime64[Y]").astype("datetime64[s]")
    end = (whole - 1969).astype("datetime64[Y]").astype("datetime64[s]")
    share = np.where(known, years - whole, 0.0)
    # Rounded, since midnight of the first must not fall into the month before.
    seconds = np.rint(share * (end - start).astype(float)).astype("timedelta64[s]")
    return np.where(known, (start + seconds).astype("datetime64[M]").astype(str), "")


def date_note(name: str) -> str:
    """Return what a person should know of a column of dates."""
    return (
        f"Column {name!r} holds dates, which became years with decimals: 2019.5 is the "
        "middle of 2019."
    )
