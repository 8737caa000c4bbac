"""``treelab users``: who is an admin, and who stopped or deleted what."""

import json
import time
from argparse import Namespace

from treelab.cli.arguments import command, printable
from treelab.runs.store.run_store import RunStore
from treelab.runs.users import admins, audit_log, set_admin


@command(
    "users",
    "name the admins of an app with sign-in; list who deleted what",
    """
    Where people sign in to the app, a run belongs to who started it, and admins may
    change all. The command line itself may change everything.

    | --admin EMAIL  make somebody an admin
    | --not-admin EMAIL  make somebody no admin
    | --audit  list what was stopped and deleted
    --json  print JSON
    [home]
    """,
)
def users(arguments: Namespace) -> None:
    """Change a role, or list admins or what was stopped and deleted."""
    store = RunStore(arguments.home)
    if arguments.admin:
        set_admin(store, arguments.admin, True)
    if arguments.not_admin:
        set_admin(store, arguments.not_admin, False)
    if arguments.audit:
        _print_audit(store, arguments.json)
        return
    if arguments.json:
        print(json.dumps({"admins": admins(store)}))
        return
    print(f"Admins: {printable(', '.join(admins(store)) or 'none')}.")


def _print_audit(store: RunStore, as_json: bool) -> None:
    """Print the audit log, newest first."""
    lines = audit_log(store)
    if as_json:
        print(json.dumps(lines, indent=1))
        return
    for line in lines:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(line["at"]))
        words = (line["user"], line["deed"], line["subject"], line["name"])
        print(f"{at}  {printable('  '.join(words)).rstrip()}")
    if not lines:
        print("Nothing was stopped or deleted by somebody who had signed in.")
