"""Private files of the data folder."""

from pathlib import Path

import pytest

from treelab.runs.store.files import write_private


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_nothing_else(
    tmp_path, monkeypatch
):
    path = tmp_path / f"{'a' * 64}.parquet"
    write_private(path, b"old")

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_private(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"old"
