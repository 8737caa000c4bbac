"""``python -m tests.runs.slow_worker``: a worker that knows the slow tree."""

import sys

from tests.runs.slow_tree import register
from treelab.__main__ import main
from treelab.runs import worker

if __name__ == "__main__":
    register()
    worker.UNUSED_SECONDS = 2.0
    worker.GRACE_SECONDS = 1.0
    sys.exit(main(["worker", *sys.argv[1:]]))
