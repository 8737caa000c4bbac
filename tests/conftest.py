"""Settings of a test run, made before anything imports torch."""

import os

# Two test processes with as many threads each as there are cores wait for one another.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
