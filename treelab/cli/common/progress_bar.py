"""The progress bar of a training in a terminal."""

import math
import signal
import sys

from tqdm import tqdm

from treelab.training.events import Progress


class ProgressBar:
    """Training callback that draws a progress bar and asks to stop on Ctrl-C.

    A second Ctrl-C aborts the training.
    """

    def __enter__(self) -> "ProgressBar":
        """Draw the bar and take Ctrl-C."""
        self._stop_requested = False
        self._bar = tqdm(unit=" epochs", disable=None, file=sys.stderr)
        self._previous = signal.signal(signal.SIGINT, self._request_stop)
        return self

    def __exit__(self, *_) -> None:
        """Close the bar and give Ctrl-C back."""
        signal.signal(signal.SIGINT, self._previous)
        self._bar.close()

    def __call__(self, report: Progress) -> bool:
        """Move the bar; True once Ctrl-C was pressed."""
        self._bar.total = report.max_epochs
        if math.isfinite(report.valid_loss):
            self._bar.set_postfix(
                train=f"{report.train_loss:.4g}",
                valid=f"{report.valid_loss:.4g}",
                refresh=False,
            )
        self._bar.set_description(report.stage, refresh=False)
        self._bar.update(report.total_epoch - self._bar.n)
        return self._stop_requested

    def _request_stop(self, *_) -> None:
        """Ask the training to stop, and let the next Ctrl-C through."""
        self._stop_requested = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("Stopping; the best tree so far is saved.", file=sys.stderr)
