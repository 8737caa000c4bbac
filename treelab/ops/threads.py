"""How many threads kernels run on, and from which Python thread."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
import torch

# Of every kernel. Sums may be reordered, as torch does; NaN and infinity keep to IEEE.
OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "fastmath": {"reassoc", "contract"},
}

SMALL = 2**17  # numbers below which waking another thread costs more than it saves

# numba's workqueue threads must never be entered by two Python threads at once.
_LOCK = threading.Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute on one thread: sums are then the same on every machine."""
    allowed = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(allowed)


def threads_for(n_numbers: int) -> int:
    """How many threads are worth while: as many as torch uses, one for few numbers."""
    if n_numbers < SMALL:
        return 1
    most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    return max(1, min(torch.get_num_threads(), most))


def run_alone(kernel, n_numbers: int, *arguments) -> None:
    """Run a parallel kernel while no other runs, on as many threads as torch uses.

    ``n_numbers`` is how many numbers it works through; few are left to one thread.
    """
    with _LOCK:
        allowed = torch.get_num_threads()
        numba.set_num_threads(threads_for(n_numbers))
        kernel(*arguments)
        # numba's OpenMP layer, when it starts, writes over torch's number of threads.
        if torch.get_num_threads() != allowed:
            torch.set_num_threads(allowed)
