"""Running numba's parallel kernels from any Python thread."""

import threading

import numba
import torch

# numba's workqueue threads must never be entered by two Python threads at once.
_LOCK = threading.Lock()


def run_alone(kernel, *arguments) -> None:
    """Run a parallel kernel while no other runs, on as many threads as torch uses."""
    with _LOCK:
        allowed = torch.get_num_threads()
        numba.set_num_threads(max(1, min(allowed, numba.config.NUMBA_NUM_THREADS)))
        kernel(*arguments)
        # numba's OpenMP layer, when it starts, writes over torch's number of threads.
        if torch.get_num_threads() != allowed:
            torch.set_num_threads(allowed)
