"""Fetch a table from OpenML as Parquet; runs in a process of its own."""

import io
import socket
import warnings
from typing import Any
from urllib.error import HTTPError, URLError

from treelab.data.reading.formats.guarded import serve
from treelab.data.reading.table_error import TableError

SECONDS = 15  # that the server may be silent
OFFLINE = "A network error occurred"  # how scikit-learn's warning begins


def fetch(content: bytes, name: str, folder: str, asked: str) -> tuple[dict, bytes]:
    """Fetch a table by its number or name, or take it from the cache in ``folder``.

    ``name`` is OpenML's number of a table, or its name; ``asked`` is what the person
    who asks calls it; ``content`` is not used. Returned are "title", the table's name
    and number, and "notes", sentences; and Parquet, the target as the last column.
    """
    from sklearn.datasets import fetch_openml
    from sklearn.datasets._openml import OpenMLError

    socket.setdefaulttimeout(SECONDS)
    which: dict[str, Any] = {"data_id": int(name)} if name.isdigit() else {"name": name}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # It would try again for seconds: a person presses the button again.
            warnings.filterwarnings("error", message=OFFLINE)
            bunch = fetch_openml(**which, data_home=folder, n_retries=1, as_frame=True)
    except (OpenMLError, HTTPError) as error:
        if isinstance(error, HTTPError) and error.code >= 500:
            raise TableError(
                f"OpenML answers with an error ({error.code}). Try again later."
            ) from error
        raise TableError(
            f"OpenML has no table {asked!r}. Look for its number on openml.org."
        ) from error
    except (URLError, TimeoutError, ConnectionError, UserWarning) as error:
        raise TableError(
            f"OpenML cannot be reached, and {asked!r} was not fetched before. Look at "
            "the network connection, or upload the table as a file."
        ) from error
    except ValueError as error:
        words = str(error)
        if "parse" in words.lower():
            words = "it holds sparse rows"
        raise TableError(
            f"OpenML's table {name!r} cannot be read: {words[:200]}."
        ) from error
    target = bunch.target_names[-1] if bunch.target_names else None
    frame = bunch.frame
    if target is not None:
        frame = frame[[c for c in frame.columns if c != target] + [target]]
    details = bunch.details
    title = f"{details['name']} (OpenML {details['id']})"
    written = io.BytesIO()
    frame.to_parquet(written, index=False, compression="none")
    notes = [] if len(bunch.target_names) <= 1 else [_several(bunch.target_names)]
    if any("Multiple active versions" in str(each.message) for each in caught):
        notes.append(
            f"OpenML has several tables {name!r}; this is version "
            f"{details['version']}, number {details['id']}."
        )
    return {"title": title, "notes": notes}, written.getvalue()


def _several(names: list[str]) -> str:
    """Return what to tell of a table with several targets."""
    return (
        f"OpenML names {len(names)} targets: {', '.join(names)}. Take those that are "
        "not predicted out of the features."
    )


if __name__ == "__main__":
    serve(fetch)
