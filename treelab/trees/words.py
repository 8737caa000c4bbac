"""Words for sentences: numbers, plurals, lists and names."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from decimal import ROUND_FLOOR, Decimal
from functools import lru_cache
from itertools import takewhile
from math import ceil, floor, inf, isfinite, isnan, log10, nan

HOURS = "hours"  # the unit of times of day
CURRENCIES = "$€£¥₹₽₩₪₺₴₦₱฿"

# Numbers and counts as people read them.


_NO_DIGITS = str.maketrans("", "", ",.−")
_LEAST, _MOST = 3, 17  # significant digits; 17 write every float exactly


def shortest(
    value: float, fits: Callable[[float], bool] | None = None, digits: int = _LEAST
) -> str:
    """Return a number with few digits, but enough to be true.

    Such as "0.8", "−12.5", "1337.5", "2.1e−6", "∞" or "unknown" (NaN). ``fits`` tells
    whether the rounded number may stand for the value: the fewest significant digits
    that fit are shown, ``digits`` or more. Without it, a number of up to 6 significant
    digits is shown whole (so is each midpoint of a column with few decimals), and a
    longer one with 4. Trailing zeros go; digits before the decimal point are always
    shown.
    """
    if isnan(value):
        return "unknown"
    if not isfinite(value):
        return "∞" if value > 0 else "−∞"
    if fits is None:
        exact = _to_digits(value, 9)
        fewest = len(exact.normalize().as_tuple().digits)
        if fewest <= 6:
            return _text(exact)
        fits, digits = isfinite, digits + 1  # rounding up may overflow
    for n in range(digits, _MOST):
        short = _to_digits(value, n)
        if fits(float(short)):
            return _text(short)
    return _text(_to_digits(value, _MOST))


def apart(values: Sequence[float]) -> list[str]:
    """Return numbers as ``shortest`` does, or exactly where two would read alike."""
    texts = [shortest(float(value)) for value in values]
    if len({*texts}) == len({*values}):
        return texts
    return [shortest(float(value), float(value).__eq__) for value in values]


def rounded(value: float) -> str:
    """Return a number with three significant digits, trailing zeros dropped."""
    return shortest(value, isfinite)


def significant(value: float, digits: int = 3) -> str:
    """Return a number with significant digits, zeros and thousands separators shown.

    As in a table of scores: "0.950", "1,520", "−0.0041", "2.10e−7", "∞", "no value"
    (NaN). Digits before the point stay.
    """
    if isnan(value):
        return "no value"
    if not isfinite(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    exponent = floor(log10(abs(float(f"{value:.{digits - 1}e}"))))
    if -5 < exponent < 9:
        text = f"{value:,.{max(digits - 1 - exponent, 0)}f}"
    else:
        mantissa, _, exponent_text = f"{value:.{digits - 1}e}".partition("e")
        text = f"{mantissa}e{int(exponent_text)}"
    return text.replace("-", "−")


def signed(value: float, digits: int = 3) -> str:
    """Return a change with its sign."""
    text = significant(value, digits)
    return f"+{text}" if value > 0 else text


def threshold_text(threshold: float, low: float, high: float, near: float = inf) -> str:
    """Return a threshold with few digits, so that no training row changes sides.

    ``low`` is the largest training value at or below it, ``high`` the smallest above
    it; NaN where unknown. It is then off by ``near`` at most, and not above itself.
    """
    if isnan(low) or isnan(high) or not low <= threshold < high:
        return _from_below(threshold, near)
    # With no row on one side any number would do; it stays near its threshold.
    near = max(abs(threshold) * 0.01, 1e-300)
    low, high = max(low, threshold - near), min(high, threshold + near)
    return shortest(threshold, lambda shown: low <= shown < high)


def _from_below(threshold: float, near: float) -> str:
    """Return a threshold with few digits, rounded down.

    Values of as many decimals then keep their side: "x < 3", read as a threshold of
    2.9999999, is "x ≤ 2.999", as "x ≤ 3" lets 3 pass.
    """
    exact = shortest(threshold)
    if not isfinite(threshold) or 0 <= threshold - parse(exact) <= near:
        return exact
    for digits in range(_LEAST + 1, _MOST):
        last = _to_digits(threshold, digits).adjusted() - digits + 1
        step = Decimal(1).scaleb(min(last, 0) if abs(threshold) < 1e7 else last)
        short = Decimal(threshold).quantize(step, ROUND_FLOOR)
        if isfinite(float(short)) and threshold - float(short) <= near:
            return _text(short)
    return _text(_to_digits(threshold, _MOST))


def value_text(value: float, threshold: float, shown: float) -> str:
    """Return a row's value so that it lies on the same side of a threshold as shown.

    One that lies between the threshold and that, as no text of it can, is "about" that.
    """
    if isnan(value):
        return "missing"
    left = value <= threshold
    plain = shortest(value)
    if not isfinite(value) or (parse(plain) <= shown) == left:
        return plain
    if (value <= shown) != left:
        return f"about {shortest(shown, shown.__eq__)}"
    return shortest(value, lambda text: (text <= shown) == left)


def grouped(text: str) -> str:
    """Return a number that ``shortest`` wrote, with commas between thousands."""
    whole, *rest = re.split(r"(?=[.e])", text, maxsplit=1)
    return "".join([re.sub(r"(?<=\d)(?=(\d{3})+$)", ",", whole), *rest])


def evened(low: str, high: str) -> tuple[str, str]:
    """Return two numbers that ``shortest`` wrote with as many decimals each."""
    if not (low + high).translate(_NO_DIGITS).isdecimal():
        return low, high
    most = max(len(text.partition(".")[2]) for text in (low, high))

    def even(text: str) -> str:
        whole, _, decimals = text.partition(".")
        return f"{whole}.{decimals:0<{most}}" if most else text

    return even(low), even(high)


def parse(text: str) -> float:
    """Return the number that ``shortest`` wrote, or the hours of a time."""
    if ":" in text:
        return parse_clock(text)
    text = text.replace(",", "")
    return float(text.replace("−", "-").replace("∞", "inf").replace("unknown", "nan"))


def percent(share: float, *, even: bool = False) -> str:
    """Return a share as "31.4%"; what is not all never reads "100%", nor some "0%".

    A whole one has no decimal, "31%", unless they are ``even``, as in a column.
    """
    if isnan(share):
        return "unknown"
    if 0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    text = f"{share:.1%}".replace("-", "−")
    return text if even else text.replace(".0%", "%")


def probability(value: float) -> str:
    """Return a probability, two or three digits; unsure never reads "1.00"."""
    if 0 < value < 0.0005:
        return "<0.001"
    if 0.9995 <= value < 1:
        return ">0.999"
    text = f"{value:.3f}"
    return text[:-1] if text.endswith("0") else text


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: "1 row", "1,024 rows", "2 leaves"."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def left_out(n: int, which: str) -> str:
    """Say that so many rows are left out: "2 rows of weight 0 are left out"."""
    return f"{counted(n, 'row')} {which} {'is' if n == 1 else 'are'} left out"


def _to_digits(value: float, digits: int) -> Decimal:
    """Return a value rounded to significant digits, digits before the point stay."""
    whole = len(str(int(abs(value)))) if 1 <= abs(value) < 1e7 else 0
    return Decimal(f"{value:.{max(digits, whole)}g}")


def _text(value: Decimal) -> str:
    """Return a decimal as text, without trailing zeros."""
    if value == 0:
        return "0"
    value = value.normalize()
    if -5 <= value.adjusted() < 7:
        # From five digits on: of four, many are years.
        text = format(value, ",f" if value.adjusted() > 3 else "f")
    else:
        mantissa, _, exponent = f"{value:e}".partition("e")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("-", "−")


# Times of day and durations in words, which tables and splits know as hours: "17:02".


_MOST_HOURS = 1e6  # that are written as times; of more, floats tell no millisecond


def clock_text(hours: float) -> str:
    """Return hours as "17:02", "17:02:30", "0:00:01.5" or "−1:30".

    To the nearest millisecond; seconds are left out where there are none. More hours
    than people write are a number.
    """
    if not abs(hours) < _MOST_HOURS:
        return shortest(hours)
    passed = round(abs(hours) * 3_600_000)
    minutes, passed = divmod(passed, 60_000)
    text = f"{minutes // 60}:{minutes % 60:02d}"
    if passed:
        text += f":{passed / 1000:06.3f}".rstrip("0").rstrip(".")
    return f"−{text}" if hours < 0 and text != "0:00" else text


def short_time(hours: float, near: float = 0.0) -> str:
    """Return hours of a mean or an error as ``clock_text`` does, rounded.

    To the minute, second or millisecond, the first that is off by 0.5% or ``near``.
    """
    near = max(near, 0.005 * abs(hours))
    for parts in (60, 3600):  # of an hour
        if abs(hours) < _MOST_HOURS:
            shown = round(hours * parts) / parts
            if abs(shown - hours) <= near:
                return clock_text(shown)
    return clock_text(hours) if isfinite(hours) else significant(hours)


def parse_clock(text: str) -> float:
    """Return the hours that ``clock_text`` wrote."""
    hours, minutes, *seconds = text.strip("−").split(":")
    passed = int(hours) * 3_600_000 + int(minutes) * 60_000
    passed += round(float(seconds[0]) * 1000) if seconds else 0
    return (-passed if text.startswith("−") else passed) / 3_600_000


def last_time(threshold: float, low: float = nan, high: float = nan) -> str:
    """Return the last time that is not after a threshold of hours.

    It is a whole minute where no training row lies between that and the threshold, else
    a second or a millisecond. ``low`` and ``high`` are as of ``threshold_text``.
    """
    if not abs(threshold) < _MOST_HOURS:
        return threshold_text(threshold, low, high)
    shown = threshold
    for parts in (60, 3600, 3_600_000):  # of an hour
        passed = floor(threshold * parts) + 1
        while passed / parts > threshold:
            passed -= 1
        shown = passed / parts
        if shown >= low:  # not where it is unknown
            break
    return clock_text(shown)


_STEPS = (1, 2, 5, 10, 15, 30)  # of minutes and seconds, as clocks are marked


def round_times(low: float, high: float, most: int = 7) -> list[float]:
    """Return at most so many round times between two numbers of hours, for axes."""
    least = max(high - low, 1e-9) / most
    hours = [n / 3600 for n in _STEPS] + [n / 60 for n in _STEPS] + [1, 2, 3, 6, 12, 24]
    step = next((own for own in hours if own >= least), 24 * ceil(least / 24))
    if least < hours[0]:
        step = 10.0 ** ceil(log10(least * 3600)) / 3600
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [step * n for n in range(first, last + 1)]


# Names of columns, categories and units as people read them.


_TIME_LAST = re.compile(r"\d:\d\d(:\d\d(\.\d+)?)?$")
_NUMBER_LAST = re.compile(r"\d[\d,.]*(e[+\-−]?\d+)?$")
_DIRECTION_MARKS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def with_unit(text: str, unit: str) -> str:
    """Return the text with its unit behind it, and a space between but before %.

    The sign of a currency stands before the last number, as in English: "$5". A time,
    such as 17:02, is in hours without saying so.
    """
    unit, last = clean(unit), _NUMBER_LAST.search(text)
    if last and unit and unit[-1] in CURRENCIES:
        return f"{text[: last.start()]}{unit}{last.group()}"
    if unit == HOURS and _TIME_LAST.search(text):
        return text
    return f"{text}{unit}" if unit == "%" else f"{text} {unit}".rstrip()


def range_text(low: str, between: str, high: str, unit: str) -> str:
    """Return two ends with their unit: "7 and 12 mm", and "$7 and $12" of a currency.

    What stands ``between`` is written as it is.
    """
    if unit and unit[-1] in CURRENCIES:
        low = with_unit(low, unit)
    return f"{low}{between}{with_unit(high, unit)}"


def named_with_unit(name: object, unit: str) -> str:
    """Write what an axis shows, with its unit: "weight (kg)"."""
    return f"{name} ({unit})" if unit else str(name)


def clean(name) -> str:
    """Return a name of the user's on one line and harmless to the text around it.

    Control characters and line breaks become spaces, and marks that turn the writing
    direction go; a name with right-to-left letters is isolated, so that the rest of
    the line keeps its order.
    """
    return _cleaned(str(name))


@lru_cache(maxsize=4096)
def _cleaned(name: str) -> str:
    """Return ``clean`` of text; pictures need the same names at every node."""
    characters, turns = [], False
    for character in name:
        kind = unicodedata.category(character)
        direction = unicodedata.bidirectional(character)
        no_letter = kind == "Cs" or ord(character) & 0xFFFE == 0xFFFE
        if direction in _DIRECTION_MARKS or no_letter:
            continue
        turns = turns or direction in ("R", "AL", "AN")
        characters.append(" " if kind in ("Cc", "Zl", "Zp") else character)
    text = " ".join("".join(characters).split())
    return f"\u2068{text}\u2069" if turns else text


def short(name, length: int | None) -> str:
    """Return a clean name of at most ``length`` characters, shortened in its middle."""
    text = clean(name)
    if length is None:
        return text
    isolated = text.startswith("\u2068")
    bare = text.strip("\u2068\u2069")
    if len(bare) > length:
        ahead = length // 2
        bare = f"{bare[:ahead].rstrip()}…{bare[len(bare) - (length - 1 - ahead) :]}"
    return f"\u2068{bare}\u2069" if isolated else bare


@lru_cache(maxsize=256)
def short_names(names: tuple[str, ...], length: int | None) -> dict[str, str]:
    """Return ``short`` of each name; ones that would look alike lose their beginning.

    What they all begin with goes, up to a space, as long as the rest tells them apart.
    """
    found = {name: short(name, length) for name in names}
    alike: dict[str, list[str]] = {}
    for name, text in found.items():
        alike.setdefault(text, []).append(name)
    for same in alike.values():
        together = zip(min(same), max(same))
        shared = [a for a, b in takewhile(lambda pair: pair[0] == pair[1], together)]
        start = "".join(shared).rfind(" ") + 1
        if length and len(same) > 1 and start:
            found |= {name: f"…{short(name[start:], length - 1)}" for name in same}
    return found


def quoted(category: str, length: int | None = None) -> str:
    """Return a category in quotes, which tell it from the words around it."""
    return f"“{short(category, length)}”"


def joined(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"; "" of nothing."""
    *first, last = parts or [""]
    return f"{', '.join(first)} and {last}" if first else last


def listed(
    names: Sequence[object], most: int = 8, write: Callable[[str], str] = repr
) -> str:
    """Name a few things in a sentence, and how many more there are.

    In messages they are written as Python does, on pages by ``quoted``.
    """
    shown = [write(str(name)) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    return joined(shown)
