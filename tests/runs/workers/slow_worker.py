"""``python -m tests.runs.workers.slow_worker``: a worker that knows the slow tree."""

import sys

from tests.runs.workers.slow_tree import register
from treelab.cli.main import main
from treelab.runs.workers import worker

if __name__ == "__main__":
    register()
    # The slow tree does without torch.
    worker.Worker._load = worker.Worker._warm_up = lambda *_, **__: None
    worker.UNUSED_SECONDS = 2.0
    worker.GRACE_SECONDS = 1.0
    sys.exit(main(["worker", *sys.argv[1:]]))
