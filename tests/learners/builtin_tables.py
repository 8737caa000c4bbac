"""The built-in tables as parameters of tests; digits, the widest, takes the longest."""

import pytest

from treelab.data.builtin import BUILTIN

BUILTIN_TABLES = [
    pytest.param(key, marks=pytest.mark.slow) if key == "digits" else key
    for key in sorted(BUILTIN)
]
