"""Dates as years with decimals: the one number by which tables and splits know them."""

import numpy as np
import pandas as pd


def decimal_years(times: pd.Series) -> pd.Series:
    """Return times as years with decimals, the middle of 2019 being 2019.5.

    Parameters
    ----------
    times : Series of datetime64, shape (n_rows,)
        In any unit. Times with a time zone are taken as those of Greenwich.

    Returns
    -------
    Series of float64, shape (n_rows,)
        NaN where the date is missing.
    """
    # Microseconds reach far enough for every date that people write, and a year with
    # decimals does not tell apart times that lie closer.
    moment = times.to_numpy(dtype="datetime64[us]")
    year = moment.astype("datetime64[Y]")
    start, end = year.astype("datetime64[us]"), (year + 1).astype("datetime64[us]")
    share = (moment - start) / (end - start)
    number = year.astype(np.float64) + 1970
    return pd.Series(
        np.where(np.isnat(moment), np.nan, number + share),
        index=times.index,
        name=times.name,
    )


def from_decimal_years(years: np.ndarray) -> np.ndarray:
    """Return years with decimals (n_rows,) as datetime64[s]; NaT where missing."""
    known = np.isfinite(years) & (np.abs(years) < 1e5)
    whole = np.floor(np.where(known, years, 1970.0))
    start, length = year_bounds(whole)
    seconds = np.rint(np.where(known, years - whole, 0) * length)
    found = start + seconds.astype("timedelta64[s]")
    return np.where(known, found, np.datetime64("NaT", "s"))


def year_bounds(whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first second of whole years, and how many seconds they have."""
    year = (whole - 1970).astype("datetime64[Y]")
    start, end = year.astype("datetime64[s]"), (year + 1).astype("datetime64[s]")
    return start, (end - start).astype(np.float64)
