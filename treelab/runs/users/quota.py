"""How much one visitor's runs and tables may take."""

from treelab.runs.store.database import reading
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.sizes import folder_size, limit_of, megabytes, table_size

VARIABLE = "TREELAB_MOST_GB_PER_USER"


def held_bytes(store: RunStore, user: str) -> int:
    """Return the bytes of a user's runs and of the tables that this user added."""
    with reading(store.database) as db:
        runs = db.execute('SELECT id FROM runs WHERE "user" = ?', (user,)).fetchall()
        tables = db.execute(
            'SELECT table_id FROM table_users WHERE "user" = ?', (user,)
        ).fetchall()
    n_bytes = sum(table_size(store.home, row["table_id"]) for row in tables)
    return n_bytes + sum(folder_size(store.folder(row["id"])) for row in runs)


def quota_words(store: RunStore, user: str) -> str:
    """Say how much of what is allowed a user takes; "" without a limit."""
    most = limit_of(VARIABLE)
    if most is None:
        return ""
    held = megabytes(held_bytes(store, user))
    return f"Your runs and tables take {held} of {megabytes(most * 1e9)}."


def has_room(store: RunStore, user: str) -> bool:
    """Whether a user takes less than is allowed."""
    most = limit_of(VARIABLE)
    return most is None or held_bytes(store, user) < most * 1e9
