"""Small files that would take all memory, and files that are none."""

import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.data.reading.files import frame_of, notes_of, refusal
from treelab.data.reading import delimited, extent
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import TableError

MOST_MEMORY = 2_000_000_000  # bytes, with Python and all libraries

READ = """
import sys
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import TableError
for path in sys.argv[1:]:
    try:
        print(read_table(path).frame.shape)
    except TableError as error:
        print(error)
with open("/proc/self/status") as status:  # getrusage counts what the parent held
    (peak,) = [line.split()[1] for line in status if line.startswith("VmHWM")]
print(int(peak) * 1024)
"""


def gzipped_commas(n_bytes: int) -> bytes:
    """Gzipped lines of commas, which take a thousandth of their bytes."""
    file = io.BytesIO()
    with gzip.open(file, "wb", compresslevel=1) as packed:
        for _ in range(n_bytes // 2**20):
            packed.write((b"," * 63 + b"\n") * 2**14)
    return file.getvalue()


def one_word(n_letters: int, n_rows: int) -> bytes:
    """A Parquet file that holds one long word, and that it stands in each row."""
    column = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(n_rows, dtype=np.int32)), pa.array(["x" * n_letters])
    )
    file = io.BytesIO()
    table = pa.table({"word": column, "number": np.arange(n_rows) % 7})
    pyarrow.parquet.write_table(table, file)
    return file.getvalue()


def same_text(n_letters: int, n_rows: int) -> bytes:
    """A Parquet file of long texts that differ, and are packed to next to nothing."""
    file = io.BytesIO()
    texts = [f"{i}{'x' * n_letters}" for i in range(n_rows)]
    table = pa.table({"text": texts, "number": np.arange(n_rows) % 7})
    pyarrow.parquet.write_table(table, file, use_dictionary=False, compression="zstd")
    return file.getvalue()


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.slow
def test_small_files_that_unpack_to_gigabytes_are_refused_in_two(tmp_path):
    files = {
        "commas.csv.gz": gzipped_commas(400 * 2**20),
        "word.parquet": one_word(200_000, 20_000),  # 4 GB
        "text.parquet": same_text(2_000_000, 150),  # 300 MB
    }
    for name, content in files.items():
        assert len(content) < 5_000_000
        (tmp_path / name).write_bytes(content)
    paths = [tmp_path / name for name in files]
    done = subprocess.run(
        [sys.executable, "-c", READ, *paths],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    *sentences, memory = done.stdout.strip().split("\n")
    assert [sentence.split()[0] for sentence in sentences] == [*files]
    assert all("more than 256 MiB of text" in sentence for sentence in sentences)
    assert int(memory) < MOST_MEMORY


def test_parquet_with_repeated_words_is_read_as_it_was():
    read = read_table(one_word(1000, 5000), "t.parquet").frame
    assert read["word"].tolist() == ["x" * 1000] * 5000
    assert read["number"].tolist() == [i % 7 for i in range(5000)]
    read = read_table(same_text(100, 500), "t.parquet").frame
    assert read["text"].tolist() == [f"{i}{'x' * 100}" for i in range(500)]


def test_a_text_is_refused_by_its_size_whatever_its_packing(monkeypatch):
    monkeypatch.setattr(extent, "MOST_BYTES", 2**20)
    text = b"a,b\n" + b"1,2\n" * 2**18
    for content in (text, gzip.compress(text)):
        assert "more than 1 MiB of text" in refusal(content)
    wide = ("a,b\n" + "ä,ö\n" * 2**17).encode("latin-1")  # as UTF-8 it is larger
    assert len(wide) < 2**20
    assert "more than 1 MiB of text" in refusal(wide + b"\xe4,1\n" * 2**16)


def test_cells_are_counted_while_they_are_read(monkeypatch):
    monkeypatch.setattr(delimited, "MOST_RECORD", 2**10)  # a block
    monkeypatch.setattr(extent, "MOST_CELLS", 4_000)
    read = []
    whole = delimited._batches

    def counted(*given):
        for batch in whole(*given):
            read.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(delimited, "_batches", counted)
    sentence = refusal("a,b\n" + "1,2\n" * 100_000)
    assert "2 columns and more than 2,000 rows" in sentence
    assert sum(read) < 4_000


def test_a_line_of_megabytes_is_refused(monkeypatch):
    monkeypatch.setattr(delimited, "MOST_LINE", 2**16)
    for line in (b"," * 2**18, b"1 " * 2**17, b"x" * 2**18):
        assert "a line of more than" in refusal(b"a,b\n1,2\n" + line)
    rows = b"1,2\r" * 2**16  # lines of an old Mac
    assert len(read_table(b"a,b\r" + rows, "t.csv").frame) == 2**16


@pytest.mark.parametrize("n_rows", [3, 60_000, 400_000])
def test_null_bytes_are_no_text_wherever_they_stand(n_rows):
    content = b"a,b\n" + b"1,2\n" * n_rows + b"3,\0\n"
    assert "t.csv is not a text file" in refusal(content)
    with pytest.raises(TableError, match="not a text file"):
        read_table(content, "t.csv", encoding="latin-1")
    utf16 = ("a,b\n" + "1,2\n" * n_rows + "3,\0\n").encode("utf-16")
    assert "not a text file" in refusal(utf16)


def test_letters_stay_whole_where_a_long_text_is_decoded_in_blocks():
    words = ["Ł" * (i % 7) + "😀" for i in range(300_000)]
    text = "word,n\n" + "".join(f"{word},{i % 9}\n" for i, word in enumerate(words))
    assert frame_of(text)["word"].tolist() == words
    read = read_table(text.encode("utf-16"), "t.csv").frame
    assert read["word"].tolist() == words


def test_the_line_of_a_cell_is_found_in_a_long_text():
    rows = [f'"{i}\n{"x" * 90}",{i % 9}\n' for i in range(30_000)]
    notes = notes_of("word,n\n" + "".join(rows) + "last,oops\n")
    assert "'oops' on line 60,002" in notes
    long = "word,n\n" + f"{'x' * 200_000},1\n" + "y,2\n" * 20 + "y,oops\n"
    assert "'oops' on line 23" in notes_of(long)  # csv reads no such field


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_pipes_and_devices_are_no_files(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/zero"):
        with pytest.raises(TableError, match="is a pipe or a device, not a file"):
            read_table(path)
    with pytest.raises(IsADirectoryError):
        read_table(tmp_path)
