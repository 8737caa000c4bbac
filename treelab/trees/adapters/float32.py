"""Numbers of programs that read a table as float32, for tables of float64."""

import numpy as np

_BEYOND = 2.0**128  # one step above the largest float32; what rounds to it overflows


def float32_thresholds(threshold, *, strict: bool) -> np.ndarray:
    """Return thresholds that split float64 values as their float32 values were split.

    Rounding to float32 keeps the order, so ``float32(x) <= threshold`` holds for every
    float64 ``x`` up to the largest one that rounds to a float32 at or below the
    threshold. That one is returned.

    Parameters
    ----------
    threshold : float array of shape (n,)
        In the other program; an infinite one stays.
    strict : bool
        Whether that program sends ``x < threshold`` left instead of ``x <= threshold``.

    Returns
    -------
    float64 array of shape (n,)
        For ``x <= threshold``, with x in float64.
    """
    threshold = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore"):
        last = threshold.astype(np.float32)  # the largest float32 that goes left
        too_far = last >= threshold if strict else last > threshold
        last = np.where(too_far, np.nextafter(last, np.float32(-np.inf)), last)
        after = np.nextafter(last, np.float32(np.inf)).astype(np.float64)
        wide = np.clip(last.astype(np.float64), -_BEYOND, _BEYOND)
        middle = (wide + np.clip(after, -_BEYOND, _BEYOND)) / 2  # exact
        # A value just halfway rounds to the even one of the two.
        rounds_down = middle.astype(np.float32) == last
        found = np.where(rounds_down, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isinf(threshold), threshold, found)


def float32_range(value: float) -> tuple[float, float]:
    """Return the smallest and the largest float64 that round to the same float32."""
    return _lowest(np.float32(value)), -_lowest(-np.float32(value))


def _lowest(value: np.float32) -> float:
    """Return the smallest float64 that rounds to this float32."""
    below = float32_thresholds([np.nextafter(value, np.float32(-np.inf))], strict=False)
    return -np.inf if np.isinf(below[0]) else float(np.nextafter(below[0], np.inf))
