"""Which names a backup's files may have: those of a data folder, and no others."""

import re

DATABASE = "treelab.sqlite"
_NAME = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"  # no path, and nothing that begins with a dot
_MEMBER = re.compile(
    rf"treelab\.sqlite|tables/[0-9a-f]{{64}}\.parquet|runs/{_NAME}(/{_NAME}){{1,4}}"
)


def is_member(name: str) -> bool:
    """Whether a backup may hold a file of this name, so that it stays in the folder."""
    return (
        len(name) <= 255
        and _MEMBER.fullmatch(name) is not None
        and not name.endswith(".part")
    )
