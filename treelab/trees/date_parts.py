"""Parts of dates as columns: their name says what they are and of which column.

"month of admitted" is a column of numbers that any table with the dates ``admitted``
has, be it a new one. So a model that was trained on it needs nothing else to predict.
"""

import re
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from treelab.trees.cells import CellForm, holds_times, read_column
from treelab.trees.dates import ISO, from_decimal_years, year_bounds
from treelab.trees.frames import plain_column
from treelab.trees.words import clock_text

# What each part holds; "days" counts from a day that stands in the column's name.
PARTS = {
    "year": "the year",
    "month": "1 for January to 12",
    "weekday": "1 for Monday to 7",
    "hour": "the hour of the day, 0 to 23",
    "days": "days since the first date of the table",
}
_NAME = re.compile(
    r"(?:(year|month|weekday|hour) of|days from (\d{4}-\d{2}-\d{2}) to) (.+)", re.S
)
_PLAIN = CellForm("date", date=ISO)
YEARS = (1700, 2250)  # numbers outside are no years with decimals
_ROUNDED = 1e-3  # seconds by which a year with decimals may miss a whole second


def part_name(part: str, column: str, first: str = "") -> str:
    """Name the column that holds a part of the dates in a column.

    ``part`` is one of ``PARTS``; of "days", ``first`` is the day that they are counted
    from, such as "2019-03-01".
    """
    return f"days from {first} to {column}" if part == "days" else f"{part} of {column}"


def parse_part(name: str) -> tuple[str, str, str] | None:
    """Return part, column and first day of a name, None where it is no such name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return match[1] or "days", match[3], match[2] or ""


def part_words(parsed: tuple[str, str, str] | None) -> str:
    """Say what a derived column holds, by ``parse_part``; "" for any other column."""
    if parsed is None:
        return ""
    part, column, first = parsed
    what = f"days since {first}" if part == "days" else PARTS[part]
    return f"computed from the dates in {column}: {what}"


def with_date_parts(
    frame: pd.DataFrame,
    names: Iterable[str],
    forms: Mapping[str, CellForm] | None = None,
) -> pd.DataFrame:
    """Return a table with those of these columns that it lacks, where it has the dates.

    A name that is no part of a column's dates is passed over. ``forms`` say how the
    dates of each part were written in the training rows; ValueError for text that is
    not written so, without a form as ISO 8601 has it, or a cell that is no date.
    """
    own = {str(name): place for place, name in enumerate(frame.columns)}
    added = {}
    for name in dict.fromkeys(names):
        found = None if name in own else parse_part(name)
        if found is not None and found[1] in own:
            dates = plain_column(frame.iloc[:, own[found[1]]])
            dates = read_column(dates, (forms or {}).get(name, _PLAIN), "number")
            found_moments = moments(dates)
            if (np.isnat(found_moments) & dates.notna()).any():
                raise ValueError(
                    f"Column {found[1]!r} holds numbers that are no years with "
                    f"decimals, as dates are: there is no {name!r}."
                )
            added[name] = _part(found_moments, found[0], found[2])
    if not added:
        return frame
    both = pd.concat([frame, pd.DataFrame(added, index=frame.index)], axis=1)
    both.attrs = frame.attrs
    return both


def moments(dates: pd.Series) -> np.ndarray:
    """Return dates as datetime64[s] (n_rows,), NaT where there is none.

    It is the second in which each lies, and so in the same minute, hour and day. Dates
    may be years with decimals, as files are read, dates of any kind, or text as ISO
    8601 has it.
    """
    dates = plain_column(dates)
    if is_numeric_dtype(dates.dtype) and not is_bool_dtype(dates.dtype):
        years = dates.to_numpy(dtype=np.float64, na_value=np.nan)
        return from_decimal_years(years, is_begun=True)
    times = pd.to_datetime(dates, errors="coerce", utc=True, format="ISO8601")
    return times.dt.tz_localize(None).to_numpy(dtype="datetime64[s]")


def looks_like_dates(column: pd.Series) -> bool:
    """Whether numbers are years with decimals that dates became.

    A date is a whole second, and in years has many decimals: numbers as people write
    them have few, others miss the second, and hours are whole seconds themselves.
    """
    if not is_numeric_dtype(column.dtype) or is_bool_dtype(column.dtype):
        return False
    years = column.dropna().to_numpy(dtype=np.float64)
    years = np.unique(years[:: max(1, len(years) // 2000)])
    if len(years) < 2 or years[0] < YEARS[0] or years[-1] > YEARS[1]:
        return False
    for steps in (1e6, 3600):
        if not (np.abs(years * steps - np.rint(years * steps)) > 1e-3).any():
            return False
    _, length = year_bounds(np.floor(years))
    seconds = (years - np.floor(years)) * length
    return bool((np.abs(seconds - np.rint(seconds)) < _ROUNDED).all())


def with_dates(rows: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Write the dates of rows as "2019-03-01"; ``table`` shows which columns have any.

    As text: with a time of day where some of the column have one. Times are "09:30".
    """
    written = {}
    for name in rows.columns.intersection(table.columns):
        if holds_times(table, str(name)):
            written[name] = rows[name].map(padded_time, na_action="ignore")
        if looks_like_dates(table[name]):
            form = "%Y-%m-%d %H:%M:%S" if has_times(table[name]) else "%Y-%m-%d"
            dates = pd.Series(moments(rows[name]), index=rows.index)
            written[name] = dates.dt.strftime(form)
    return rows.assign(**written)


def padded_time(hours: float) -> str:
    """Write hours as a time, in the order of times also as text."""
    whole, *rest = clock_text(hours).split(":")
    return ":".join([whole.zfill(2), *rest])


def has_times(column: pd.Series) -> bool:
    """Whether some of these dates have a time of day."""
    known = moments(column)
    known = known[~np.isnat(known)]
    return bool((known != known.astype("datetime64[D]")).any())


def first_day(column: pd.Series) -> str:
    """Return the first date of a column, such as "2019-03-01"; "" without any."""
    known = moments(column)
    known = known[~np.isnat(known)]
    return str(known.min().astype("datetime64[D]")) if len(known) else ""


def _part(moment: np.ndarray, part: str, first: str) -> np.ndarray:
    """Return a part of each date, float64 (n_rows,), NaN where it is missing."""
    times = pd.Series(moment).dt
    if part == "days":
        found = (times.normalize() - np.datetime64(first, "s")).dt.days
    else:  # pandas counts weekdays from 0
        found = times.day_of_week + 1 if part == "weekday" else getattr(times, part)
    return found.to_numpy(dtype=np.float64, na_value=np.nan)
