"""Lines of a worker's log: when, about which run, what."""

import sys
import time


def log_line(run_id: str, words: str) -> None:
    """Print a line to standard error, which is the worker's log.

    Parameters
    ----------
    run_id : str
    words : str
        What happened; line ends in it become spaces.
    """
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    print(f"{now} {run_id} {' '.join(words.split())}", file=sys.stderr, flush=True)
