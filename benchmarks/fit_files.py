"""How many of treelab's files and functions one ``fit`` of each learner enters.

    python -m benchmarks.fit_files [LEARNER ...]    # and the files that these enter

A reader who follows a fit from its first line opens these. Modules that are imported
while it runs count only where one of their functions is called.
"""

import sys
import threading
from functools import partial
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_breast_cancer

from treelab.learners.registry import LEARNERS, make_estimator

PACKAGE = Path(__file__).resolve().parents[1] / "treelab"


def entered(call) -> tuple[set[str], set[tuple[str, str]]]:
    """Return the files of treelab, and (file, function) pairs, that a call enters."""
    files: set[str] = set()
    functions: set[tuple[str, str]] = set()

    def note(frame, event, _):
        code = frame.f_code
        name = code.co_filename
        if event != "call" or code.co_name == "<module>":
            return
        if name.startswith(str(PACKAGE)):
            short = str(Path(name).relative_to(PACKAGE))
            files.add(short)
            functions.add((short, code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return files, functions


def main() -> None:
    """Print the counts by learner, and the files where a learner is named."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    counts = {}
    for key in LEARNERS:
        model = make_estimator(key, "binary", {}, random_state=0, device="cpu")
        files, functions = entered(partial(model.fit, X, y))
        counts[key] = {"files": len(files), "functions": len(functions)}
        if key in sys.argv[1:]:
            print(*sorted(files), sep="\n")
    print(pd.DataFrame(counts).T.to_string())


if __name__ == "__main__":
    main()
