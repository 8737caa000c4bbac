"""``treelab``: the command line, see ``treelab.cli``."""

import sys

from treelab.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
