"""Dates in tables: how they are written, and as numbers."""

from collections.abc import Iterable
from datetime import date, datetime

import numpy as np
import pandas as pd

from treelab.trees.words import clock_text, parse

# Dates as text: years with decimals, so that trees can split them as numbers.


# How pandas calls 2020-01-31 and 2020-01-31 12:30:00+01:00; 2020-01 is the first of it.
# Seconds may have a comma, as logs write them.
ISO = "ISO8601"
# Databases write the time zone as " UTC" or +00, too.
_ZONE = r" ?(Z|UTC|[+-]\d\d(:?\d\d)?)"
ISO_PATTERN = (
    rf"(\d{{4}}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?({_ZONE})?)?"
    r"|[12]\d{3}-\d\d)"
)
# Each of these is read in one way, whatever the other dates of its column are.
CLEAR = ("%Y %m %d", "%d %b %Y", "%b %d %Y")
_HALF = r" ?[AaPp]\.? ?[Mm]\.?"
_CLOCK = rf"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?({_HALF})?"
_TIME = rf"( ({_CLOCK}|24:00(:00)?))?"
_SHORT = rf"\d{{1,2}} \d{{1,2}} \d\d{_TIME}"
# How people write dates, once one space separates their parts: what each style looks
# like, its sentence, and how its days are parsed, the first that can.
STYLES = {
    "%Y %m %d": (rf"\d{{4}} \d{{1,2}} \d{{1,2}}{_TIME}", "year first", ()),
    "%d %m %Y": (rf"\d{{1,2}} \d{{1,2}} \d{{4}}{_TIME}", "day first", ()),
    "%m %d %Y": (rf"\d{{1,2}} \d{{1,2}} \d{{4}}{_TIME}", "month first", ()),
    "%d %b %Y": (
        rf"\d{{1,2}} [A-Za-z]{{3,9}} \d{{4}}{_TIME}",
        "day before the month's name",
        ("%d %B %Y",),
    ),
    "%b %d %Y": (
        rf"[A-Za-z]{{3,9}} \d{{1,2}} \d{{4}}{_TIME}",
        "month's name first",
        ("%B %d %Y",),
    ),
    "%d %m %y": (_SHORT, "day first, year of two digits", ()),
    "%m %d %y": (_SHORT, "month first, year of two digits", ()),
    "%y %m %d": (_SHORT, "year of two digits first", ()),
    "%d %b %y": (
        rf"\d{{1,2}} [A-Za-z]{{3}} \d\d{_TIME}",
        "day before the month's name, year of two digits",
        (),
    ),
}
# Of those, years that everybody takes for the same: who was born in 45 was so in 1945.
SHORT_YEARS = 1970, 2029


def read_dates(texts: pd.Series, style: str) -> pd.Series:
    """Return dates that are written in one style, or so that it does not matter.

    Whatever the style, ``ISO`` or one of ``STYLES``, ISO 8601 can be read, and so can
    years first and named months. Texts are not missing. Dates are datetime64 in UTC,
    without a time zone; NaT where a text is no such date.
    """
    iso = texts.where(texts.str.fullmatch(ISO_PATTERN))
    iso = iso.str.replace("UTC", "Z").str.replace(r" (?=[Z+-])", "", regex=True)
    iso = iso.str.replace(",", ".")
    found = pd.to_datetime(iso, format=ISO, utc=True, errors="coerce")
    found = found.dt.tz_localize(None).dt.as_unit("us")
    for each in dict.fromkeys((style, *CLEAR)):
        if each != ISO and found.isna().any():
            styled = _styled(texts[found.isna()], each)
            found = found.fillna(styled.dt.as_unit("us"))
    return found


def _styled(texts: pd.Series, style: str) -> pd.Series:
    """Return dates of one of ``STYLES``, NaT for other texts."""
    pattern, _, others = STYLES[style]
    plain = _plain(texts)
    plain = plain[plain.str.fullmatch(pattern)]
    if plain.empty:
        return pd.Series(np.datetime64("NaT"), index=texts.index)
    parts = plain.str.split(" ", n=3)
    days = parts.str[:3].str.join(" ")
    found = pd.to_datetime(days, format=style, errors="coerce")
    for other in others:
        found = found.fillna(pd.to_datetime(days, format=other, errors="coerce"))
    if "%y" in style:
        found = found.where(found.dt.year.between(*SHORT_YEARS))
    times = parts.str[3].astype("str").fillna("0:00")
    return (found + _since_midnight(times)).reindex(texts.index)


def _since_midnight(times: pd.Series) -> pd.Series:
    """Return times of day as durations; 12:05 AM is 0:05, and 12:05 PM is 12:05."""
    parts = times.str.upper().str.extract(
        r"([+-]?)(\d+)(:\d\d)?(:\d\d(?:\.\d+)?)? ?([AP])?"
    )
    sign, hour, minutes, seconds, half = (parts[group] for group in range(5))
    hours = hour.astype(np.int64)
    hours = hours.where(half.isna(), hours % 12 + 12 * (half == "P"))
    clock = sign + hours.astype("str") + minutes.fillna(":00") + seconds.fillna(":00")
    return pd.to_timedelta(clock, errors="coerce")


def _plain(texts: pd.Series) -> pd.Series:
    """Return texts with one space between the parts of a date, September as Sep."""
    texts = texts.str.replace(r"\b([Ss]ep|SEP)[Tt]\b", "Sep", regex=True)
    return texts.str.replace(
        r"(?<!:\d\d)[-/., ]+(?=[^:]*\d)|(?<=\d)T(?=\d)", " ", regex=True
    ).str.strip()


# How people write times of day and durations: what each style looks like. Of 9 AM the
# minutes may be left out.
TIMES = {
    "h:mm": r"[+-]?\d{1,3}:[0-5]\d",
    "h:mm:ss": r"[+-]?(\d+ days?,? [+-]?)?\d{1,4}:[0-5]\d:[0-5]\d([.,]\d+)?",
    "h:mm AM": rf"(0?\d|1[0-2])(:[0-5]\d)?{_HALF}",
    "h:mm:ss AM": rf"(0?\d|1[0-2]):[0-5]\d:[0-5]\d{_HALF}",
}


def read_times(texts: pd.Series, style: str = "") -> pd.Series:
    """Return times of day, or durations, as durations; NaT where a text is none.

    They are written in one style of ``TIMES``; "" stands for any of them.
    """
    found = pd.Series(np.timedelta64("NaT", "ns"), index=texts.index)
    for each in (style,) if style else TIMES:
        written = texts[texts.str.fullmatch(TIMES[each])]
        if each == "h:mm:ss":
            plain = written.str.replace(",(?= )", "", regex=True)
            times = pd.to_timedelta(plain.str.replace(",", "."), errors="coerce")
        else:
            times = _since_midnight(written)
        found = found.fillna(times.dt.as_unit("ns").reindex(texts.index))
    return found


def read_hours(text: str, known: Iterable[float] = ()) -> float:
    """Return the hours of a time that a person wrote; NaN where it is none.

    What stands for one of the ``known`` hours is that to its last digit.
    """
    for hours in known:
        if clock_text(hours) == text:
            return hours
    found = read_times(pd.Series([text.strip().replace("−", "-")]))
    return float(found.to_numpy()[0] / np.timedelta64(1, "h"))


def find_times(texts: pd.Series) -> str:
    """Return the style of ``TIMES`` in which all texts are written, else "".

    Of 3:45 and 1:02:45 the first may be minutes and seconds, so they have none.
    """
    if texts.empty:
        return ""
    for style, pattern in TIMES.items():
        # Most other columns are known by their first.
        if all(own.str.fullmatch(pattern).all() for own in (texts.iloc[:100], texts)):
            return style
    return ""


def find_style(texts: pd.Series) -> tuple[str, str]:
    """Return the style in which all of some dates are written, and what to note.

    Points say that the day comes first; else the column must show it by a day above 12.
    Texts are those of one column, not missing. The style is "" if they are no dates, or
    it is unclear which is the day; the note "" where there is nothing to say.
    """
    head = texts.iloc[:100]  # most columns of words are known by their first
    if texts.empty:
        return "", ""
    plain = _plain(head)
    if not head.str.contains(r"\d{4}").all():
        return _short_style(texts, plain)
    looks = [ISO] if head.str.fullmatch(ISO_PATTERN).all() else []
    looks += [style for style in CLEAR if plain.str.fullmatch(STYLES[style][0]).all()]
    clear = looks[0] if looks else ISO
    fits = {}
    for style in (clear, "%d %m %Y", "%m %d %Y"):
        if read_dates(head, style).notna().all():
            dates = read_dates(texts, style)
            if dates.notna().all():
                fits[style] = dates
    if clear in fits:
        fits = {clear: fits[clear]}
    if len(fits) == 2 and texts.str.match(r"\d+\.").all():
        fits = {"%d %m %Y": fits["%d %m %Y"]}
    if not fits:
        return "", _why_unread(texts, plain)
    (style, dates), *others = fits.items()
    if others and not dates.equals(others[0][1]):
        return "", (
            f"holds dates such as {texts.iloc[0]!r}, of which it is unclear what is "
            "the day and what the month, so it is a category. Write them as 2020-01-31 "
            "to have them read as dates."
        )
    if style == ISO and looks:
        return ISO, "They are written as ISO 8601 has it."
    return style, f"{texts.iloc[0]!r} is {dates.iloc[0].date()}."


def _short_style(texts: pd.Series, plain: pd.Series) -> tuple[str, str]:
    """Return ``find_style`` of texts that are no dates, or whose years are short.

    Three numbers are a date where one order alone fits them all, but not that of years
    first; or with points and zeros, as in 31.01.21, which are written day first.
    ``plain`` are the first of the texts, with one space between their parts.
    """
    styles = [
        style
        for style, (pattern, *_) in STYLES.items()
        if "%y" in style and plain.str.fullmatch(pattern).all()
    ]
    if styles and texts.str.match(r"\d\d\.\d\d\.\d\d\b").all():
        styles = ["%d %m %y"]
    fits = [own for own in styles if read_dates(texts, own).notna().all()]
    if len(fits) != 1 or fits[0] == "%y %m %d":
        return "", _why_unread(texts, plain)
    first = read_dates(texts.iloc[:1], fits[0]).iloc[0]
    return fits[0], f"{texts.iloc[0]!r} is {first.date()}."


# Texts that look like dates or times and are not read as such: what they are, how to
# write them, and how to know them once one space separates their parts: formats, and
# a pattern.
_UNREAD = (
    (
        "dates with years of two digits",
        "2020-01-31 to have them read as dates",
        ("%d %m %y", "%m %d %y", "%y %m %d", "%d %b %y", "%b %d %y"),
        "",
    ),
    (
        "dates whose months are words",
        "2020-01-31 to have them read as dates",
        ("%Y %b %d", "%d%b%Y", "%d%b%y"),
        r"\d{1,2} (de )?[^\W\d]{3,} (de )?\d{4}",  # of other languages
    ),
    (
        "months, weeks or quarters",
        "2020-01 to have them read as dates",
        ("%m %Y", "%b %Y", "%B %Y", "%b %y"),
        r"\d{4} ?([Qq][1-4]|[Ww]\d\d?( \d)?)|[Qq][1-4] ?\d{4}",
    ),
    (
        "dates with a weekday",
        "2020-01-31 to have them read as dates",
        (),
        r"(?i:(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?),? .*\d{4}.*",
    ),
    (
        "times without a colon between hours and minutes",
        "2020-01-31 10:30 to have them read as dates",
        (),
        r"(\d{1,2} \d{1,2} \d{4}|\d{4} \d{1,2} \d{1,2}) \d{1,2} \d\d( \d\d)?",
    ),
    (
        "times of day or durations",
        "1:30:00, hours first and all alike, to have them read as numbers of hours",
        (),
        rf"[+-]?(\d+ days?,? [+-]?)?\d+:[0-5]\d(:[0-5]\d)?([.,]\d+)?({_HALF})?",
    ),
)


def _why_unread(texts: pd.Series, plain: pd.Series) -> str:
    """Say why texts that look like dates are none here; "" for other texts."""
    if not plain.str.contains(r"\d").all():  # as any of those is written
        return ""
    for what, better, formats, pattern in _UNREAD:
        if plain.str.fullmatch(pattern).all() or any(
            pd.to_datetime(plain, format=each, errors="coerce").notna().all()
            for each in formats
        ):
            return (
                f"holds what looks like {what}, such as {texts.iloc[0]!r}, so it "
                f"is a category. Write them as {better}."
            )
    return ""


_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)

# Dates as years with decimals: the one number by which tables and splits know them.


_ROUNDED = 1e-4  # seconds by which a whole second may be missed


def decimal_years(times: pd.Series) -> pd.Series:
    """Return times as years with decimals, the middle of 2019 being 2019.5.

    Times are datetime64 of any unit; those with a time zone are taken as those of
    Greenwich. NaN where one is missing.
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


def from_decimal_years(years: np.ndarray, *, is_begun: bool = False) -> np.ndarray:
    """Return years with decimals (n_rows,) as datetime64[s]; NaT where missing.

    That is the nearest second, or the one that ``is_begun``, in whose minute, hour and
    day a moment lies.
    """
    known = np.isfinite(years) & (np.abs(years) < 1e5)
    whole = np.floor(np.where(known, years, 1970.0))
    start, length = year_bounds(whole)
    passed = np.where(known, years - whole, 0) * length
    seconds = np.floor(passed + _ROUNDED) if is_begun else np.rint(passed)
    found = start + seconds.astype("timedelta64[s]")
    return np.where(known, found, np.datetime64("NaT", "s"))


def coarsest_unit(years: np.ndarray) -> str:
    """Return of what years with decimals (n,) are whole: days, minutes or seconds."""
    moments = from_decimal_years(np.asarray(years, dtype=float))
    fits = (u for u in "Dm" if (moments == moments.astype(f"datetime64[{u}]")).all())
    return next(fits, "s")


def next_day(years: float, later: bool) -> float:
    """Return the whole day nearest to a year with decimals, not before it, or after."""
    moment = from_decimal_years(np.array([years], dtype=float))[0]
    day = moment.astype("datetime64[D]")
    return _decimal_year(day + 1 if later and day < moment else day)


def moment_after(years: float, unit: str = "D") -> date | datetime | None:
    """Return the first day or minute after a year with decimals; None: none known."""
    moment = from_decimal_years(np.array([years], dtype=float))[0]
    start = moment.astype(f"datetime64[{unit}]")
    found = (start if _decimal_year(start) > years else start + 1).item()
    return found if isinstance(found, date) else None  # of years that people write


def last_moment(years: float) -> datetime | None:
    """Return the last microsecond of the last millisecond that is not after ``years``.

    So of times in whole milliseconds those at or before it are at most ``years``. None
    beyond the years 1000 to 9998.
    """
    if not 1000 <= years < 9999:
        return None
    start, length = year_bounds(np.array([np.floor(years)]))
    passed = np.rint((years % 1) * length * 1000).astype("timedelta64[ms]")
    moment = (start + passed)[0]
    if _decimal_year(moment) > years:
        moment -= np.timedelta64(1, "ms")
    return (moment + np.timedelta64(999, "us")).item()


def last_before(moment: date) -> float:
    """Return the last number before a day or a time, as a year with decimals."""
    return float(np.nextafter(_decimal_year(np.datetime64(moment)), -np.inf))


# Dates in words: "12 May 2019", which every reader takes for the same day.


def moment_text(years: float) -> str:
    """Return a year with decimals as a date, with its time of day where it has one.

    Such as "12 May 2019", "12 May 2019 10:30" or "12 May 2019 10:30:05".
    """
    moment = from_decimal_years(np.array([years], dtype=float))[0].item()
    if not isinstance(moment, datetime):  # beyond the dates that people write
        return f"{years:g}"
    text = f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"
    if moment.second:
        return f"{text} {moment:%H:%M:%S}"
    return f"{text} {moment:%H:%M}" if moment.hour or moment.minute else text


def days_text(years: float) -> str:
    """Return the day of a year with decimals, short, for axes: "12 Sep 2019"."""
    day, *rest = moment_text(years).split(" ")
    return " ".join([day, *(own[:3] for own in rest[:1]), *rest[1:2]])


def parse_moment(text: str) -> float:
    """Return the year with decimals that ``moment_text`` wrote, or ``shortest`` did."""
    if " " not in text:  # an infinite threshold, or beyond the dates that people write
        return parse(text)
    day, month, year, *time = text.split(" ")
    date = f"{int(year):04d}-{_MONTHS.index(month) + 1:02d}-{int(day):02d}"
    return _decimal_year(np.datetime64(f"{date}T{time[0]}" if time else date, "s"))


def first_moment_after(
    threshold: float, low: float = np.nan, high: float = np.nan
) -> str:
    """Return the moment of which rows at or below a threshold are before.

    The first day after the threshold, so that no day changes sides; where training rows
    of that day are parted by their time, the first minute or second. ``low`` is the
    largest training value at or below the threshold, ``high`` the smallest above it;
    NaN where unknown.
    """
    moment = from_decimal_years(np.array([threshold], dtype=float))[0]
    if np.isnat(moment):
        return moment_text(threshold)
    found = moment
    for unit in ("D", "m", "s"):
        found = moment.astype(f"datetime64[{unit}]")
        while _decimal_year(found) <= threshold:
            found = found + 1
        if not _decimal_year(found) > high:  # also where it is not known
            break
    return moment_text(_decimal_year(found))


def _decimal_year(moment: np.datetime64) -> float:
    """Return one moment as a year with decimals."""
    exact = moment.astype("datetime64[ms]")  # pandas has no days
    return float(decimal_years(pd.Series([exact])).iloc[0])


def months(years: np.ndarray) -> np.ndarray:
    """Return the months of years with decimals as text "2019-07"; "" where missing."""
    found = from_decimal_years(np.asarray(years, dtype=float)).astype("datetime64[M]")
    return np.where(np.isnat(found), "", found.astype(str))


def year_bounds(whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first second of whole years, and how many seconds they have."""
    year = (whole - 1970).astype("datetime64[Y]")
    start, end = year.astype("datetime64[s]"), (year + 1).astype("datetime64[s]")
    return start, (end - start).astype(np.float64)
