"""Dates in a table: years with decimals, so that trees can split them as numbers."""

import re

import numpy as np
import pandas as pd

_TIME = r"( \d{1,2}:\d\d(:\d\d)?)?"
NUMBERS_LAST_YEAR = rf"^\d{{1,2}} \d{{1,2}} \d{{4}}{_TIME}$"
# What dates look like once one space separates their parts, and how they are parsed.
STYLES = (
    (rf"^\d{{4}} \d{{1,2}} \d{{1,2}}{_TIME}$", ("%Y %m %d",)),
    (NUMBERS_LAST_YEAR, ("%d %m %Y", "%m %d %Y")),
    (rf"(?i)^\d{{1,2}} [a-z]{{3,9}} \d{{4}}{_TIME}$", ("%d %b %Y", "%d %B %Y")),
    (rf"(?i)^[a-z]{{3,9}} \d{{1,2}} \d{{4}}{_TIME}$", ("%b %d %Y", "%B %d %Y")),
)


def styled_dates(texts: pd.Series) -> tuple[pd.Series | None, str]:
    """Return dates as people write them, and how they were understood.

    Styles are 2020/1/31, 31.1.2020, 31/1/2020, 1/31/2020, 31 Jan 2020 and January 31,
    2020, each perhaps with a time of day. Points say that the day comes first; else
    the column must show it by a day above 12.

    Parameters
    ----------
    texts : Series of str
        Without missing values; all of one column.

    Returns
    -------
    Series of datetime64, or None
        None if they are no dates, or it is unclear which is the day.
    str
        What to note of it, "" for no dates.
    """
    if texts.empty or not re.match(r"\d|[A-Za-z]{3}", texts.iloc[0]):
        return None, ""
    plain = texts.str.replace(r"[-/., T]+(?=[^:]*\d)", " ", regex=True).str.strip()
    for pattern, formats in STYLES:
        if not plain.iloc[:100].str.match(pattern).all():
            continue
        if not plain.str.match(pattern).all():
            return None, ""
        if pattern == NUMBERS_LAST_YEAR and texts.str.match(r"\d+\.").all():
            formats = formats[:1]
        parts = plain.str.split(" ", n=3)
        days = parts.str[:3].str.join(" ")
        parsed = [pd.to_datetime(days, format=f, errors="coerce") for f in formats]
        found = [dates for dates in parsed if dates.notna().all()]
        if not found:
            return None, ""
        if len(found) > 1 and not found[0].equals(found[1]):
            return None, (
                f"holds dates such as {texts.iloc[0]!r}, of which it is unclear what "
                "is the day and what the month, so it is a category. Write them as "
                "2020-01-31 to have them read as dates."
            )
        times = parts.str[3].astype("str").fillna("0:00")
        times = times.where(times.str.count(":") == 2, times + ":00")
        dates = found[0] + pd.to_timedelta(times, errors="coerce")
        first = found[0].iloc[0].date()
        return (
            (None, "")
            if dates.isna().any()
            else (
                dates,
                f"{texts.iloc[0]!r} is {first}.",
            )
        )
    return None, ""


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
