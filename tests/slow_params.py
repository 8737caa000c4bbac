"""Parameters of a test: the first few run each time, the others with -m slow."""

from collections.abc import Iterable

import pytest


def slow_after(n_quick: int, params: Iterable) -> list:
    """Mark all but the first ``n_quick`` parameters as slow."""
    listed = list(params)
    slow = [pytest.param(each, marks=pytest.mark.slow) for each in listed[n_quick:]]
    return [*listed[:n_quick], *slow]
