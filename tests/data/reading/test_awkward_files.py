"""Every file of the list of awkward ones is read right, or refused with what to do."""

import subprocess
import sys
import time

import numpy as np
import pytest

from tests.data.reading.awkward import AWKWARD
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import TableError

MOST_MEMORY = 2_000_000_000  # bytes, of this process and of each that it starts
MOST_SECONDS = 20

READ_ALL = """
import resource
from tests.data.reading.awkward import AWKWARD
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import TableError
for each in AWKWARD:
    try:
        read_table(each.bytes(), each.name, **each.options)
    except TableError:
        pass
with open("/proc/self/status") as status:  # getrusage counts what the parent held
    (peak,) = [line.split()[1] for line in status if line.startswith("VmHWM")]
print(int(peak), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_there_are_more_than_sixty():
    assert len({each.name for each in AWKWARD}) == len(AWKWARD) >= 60


@pytest.mark.parametrize(
    "each",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.slow] * each.is_slow)
        for each in AWKWARD
    ],
)
def test_it_is_read_right_or_refused_with_what_to_do(each):
    began = time.perf_counter()
    if isinstance(each.found, str):
        with pytest.raises(TableError) as caught:
            read_table(each.bytes(), each.name, **each.options)
        sentence = str(caught.value)
        assert each.found in sentence
        assert each.name in sentence  # which file it is
        assert sentence.count(".") >= 1  # and what to do
    else:
        frame = read_table(each.bytes(), each.name, **each.options).frame
        for column, values in each.found.items():
            held = frame[column].tolist()
            if isinstance(values[-1], str):
                assert held == values
            else:
                np.testing.assert_allclose(held, values, rtol=1e-12)
    assert time.perf_counter() - began < MOST_SECONDS


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_none_of_them_takes_much_memory():
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL], capture_output=True, text=True, check=True
    )
    assert all(int(peak) * 1024 < MOST_MEMORY for peak in done.stdout.split())
