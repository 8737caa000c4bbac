"""Models as files and as JSON: never pickle, so a model someone sent runs no code.

A saved model is a folder with ``model.json`` (what it is, its columns and classes) and
``model.safetensors`` (its arrays), or one file, a zip of these two. Both are checked
when they are read, also against the checksum of both that ``model.json`` keeps.
"""

import hashlib
import json
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from importlib import import_module
from io import BytesIO
from math import isfinite
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import pandas as pd
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from treelab.trees.cells import CellForm
from treelab.trees.losses import Loss

VERSION = 1
TYPES = {
    "Tree": "treelab.trees.tree",
    "WeightedTrees": "treelab.trees.ensemble",
    "PruningPath": "treelab.trees.pruning_path",
    "SizePath": "treelab.trees.pruning",
    "RashomonSet": "treelab.trees.rashomon",
}
MOST_BYTES = 2**26  # of a model as JSON, whose values take twenty times the memory
MOST_ARRAY_BYTES = 2**30
ONE_FILE = ".treelab"  # ending of a model in one file
_ARRAY_TYPES = ("bool", "int32", "int64", "float32", "float64")
MODEL_FILES = _SETTINGS, _ARRAYS = "model.json", "model.safetensors"
_CHECKSUM = "sha256"  # in model.json; models of earlier versions have none


class Stored:
    """What is stored as a file: a class that can ``pack`` itself and ``unpack`` again.

    ``pack()`` returns settings (plain values, Features, data frames) and a dict of
    named numpy arrays; ``unpack(settings, arrays)`` rebuilds the object from them and
    raises ValueError where they make none.
    """

    def pack(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Return plain settings and named arrays."""
        raise NotImplementedError

    def to_dict(self) -> dict:
        """Return the whole model as JSON-safe values, exact to the last bit."""
        settings, arrays = self.pack()
        return {
            **_header(self, settings),
            "arrays": {name: _array_to_plain(a) for name, a in sorted(arrays.items())},
        }

    @classmethod
    def from_dict(cls, stored: dict):
        """Return the model that ``to_dict`` described; ValueError where it is none."""
        arrays = stored.get("arrays") if isinstance(stored, dict) else None
        if not isinstance(arrays, dict):
            raise ValueError("This is not a treelab model: it has no arrays.")
        arrays = {name: _array_from_plain(name, a) for name, a in arrays.items()}
        return _rebuild(stored, arrays, cls)

    def save(self, path) -> None:
        """Write the model into the folder ``path``, which is made where needed.

        A path that ends with ".treelab" becomes one file. A reader never finds half a
        file: each is moved to its place when complete.
        """
        path = Path(path)
        if path.suffix == ONE_FILE:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace({path: self.to_bytes()})
            return
        path.mkdir(parents=True, exist_ok=True)
        settings, arrays = self._files()
        _replace({path / _ARRAYS: arrays, path / _SETTINGS: settings})

    def to_bytes(self) -> bytes:
        """Return the model as the content of one file, the same for the same model."""
        target = BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in zip(MODEL_FILES, self._files()):
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        return target.getvalue()

    def _files(self) -> tuple[bytes, bytes]:
        """Return the content of ``model.json`` and of ``model.safetensors``."""
        settings, arrays = self.pack()
        header = _header(self, settings)
        # safetensors writes the memory as it lies, so it must lie in C order.
        arrays = {name: np.ascontiguousarray(a) for name, a in arrays.items()}
        content = save_arrays(arrays)
        header[_CHECKSUM] = _checksum(header, content)
        return _json_bytes(header), content

    @classmethod
    def load(cls, path):
        """Read a model as ``treelab.load`` does; ValueError if of another type."""
        return _read(Path(path), cls)


def load(path):
    """Read a saved model, of any type, with no torch; nothing in it is run.

    Parameters
    ----------
    path : str or Path
        A folder that ``save`` wrote, one file that it wrote (".treelab"), or JSON of
        ``to_dict``.

    Returns
    -------
    Tree, WeightedTrees or PruningPath
        Has ``predict`` and, for classes, ``predict_proba``.

    Raises
    ------
    FileNotFoundError
        If there is no model.
    ValueError
        If it is damaged, too large, no model at all, or from a newer treelab.
    """
    return _read(Path(path), Stored)


def _read(path: Path, wanted: type[Stored]):
    """Return the model of a folder, of one file or of JSON, once of that type."""
    if path.is_dir() or not path.exists():
        for name in MODEL_FILES:
            if not (path / name).is_file():
                raise FileNotFoundError(
                    f"There is no treelab model in {str(path)!r}: it lacks {name}."
                )
        settings, arrays = ((path / name).read_bytes() for name in MODEL_FILES)
        return _from_files(settings, arrays, wanted, f"in {str(path)!r}")
    content = read_regular_file(path, MOST_ARRAY_BYTES)
    if content.startswith(b"PK"):
        return model_from_zip(content, path.name, wanted=wanted)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{path.name} is no model in one file, and large for JSON.")
    try:
        stored = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path.name} is not a treelab model: neither one file that save wrote "
            "nor JSON."
        ) from error
    return wanted.from_dict(stored)


def model_from_zip(
    content: bytes | zipfile.ZipFile,
    name: str,
    folder: str = "",
    wanted: type[Stored] = Stored,
):
    """Return the model that ``to_bytes`` wrote; ValueError where there is none.

    Of a zip that holds more, it is that in ``folder``, whose name ends in "/".
    """
    try:
        if isinstance(content, bytes):
            content = zipfile.ZipFile(BytesIO(content))
        parts = [content.getinfo(folder + part) for part in MODEL_FILES]
        most = MOST_BYTES, MOST_ARRAY_BYTES
        is_readable = all(part.file_size <= n for part, n in zip(parts, most))
        files = [content.read(part) for part in parts] if is_readable else []
    except (
        *(zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, OSError),
        *(KeyError, EOFError, ValueError, NotImplementedError, IndexError),
    ) as error:
        raise ValueError(
            f"{name} is not a treelab model in one file, or it is damaged: {error}."
        ) from error
    if not files:
        raise ValueError(f"{name} unpacks to more than can be read.")
    settings, arrays = files
    return _from_files(settings, arrays, wanted, f"in {name}")


def _from_files(settings: bytes, arrays: bytes, wanted: type, where: str):
    """Return the model of the content of its two files."""
    try:
        header = json.loads(settings.decode())
        noted = header.pop(_CHECKSUM, None) if isinstance(header, dict) else None
        is_whole = noted is None or noted == _checksum(header, arrays)
        found = load_arrays(arrays) if is_whole else {}
    except (ValueError, RecursionError, SafetensorError) as error:
        raise ValueError(f"The model {where} is damaged: {error}.") from error
    if not is_whole:
        raise ValueError(
            f"The model {where} is damaged: its files are not as they were saved. Use "
            "a copy that is whole."
        )
    return _rebuild(header, found, wanted)


def _json_bytes(header: dict) -> bytes:
    """Return a header as it is written."""
    return json.dumps(header, ensure_ascii=False, allow_nan=False).encode()


def _checksum(header: dict, arrays: bytes) -> str:
    """Return the SHA-256 of a model: of its header as it is written, and its arrays."""
    digest = hashlib.sha256(_json_bytes(header))
    digest.update(arrays)
    return digest.hexdigest()


def read_regular_file(path: Path, most_bytes: int) -> bytes:
    """Return the content of a file that a person named, which may be no file at all.

    ValueError if it has more bytes, or is a pipe or a device, of which some never end.
    """
    if not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(
            f"{path.name} is a pipe or a device, not a file. Save what it holds to a "
            "file first."
        )
    with path.open("rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise ValueError(
            f"{path.name} is larger than {most_bytes // 2**20:,} MiB, the most that "
            "can be read."
        )
    return content


def _header(model, settings: dict) -> dict:
    """Return all of a model but its arrays, as JSON-safe values."""
    return {
        "type": type(model).__name__,
        "version": VERSION,
        "settings": {name: _plain(value) for name, value in sorted(settings.items())},
    }


def _rebuild(header, arrays: dict, wanted: type):
    """Return the model of a header and its arrays, once it is of the wanted type."""
    kind = header.get("type") if isinstance(header, dict) else None
    if not isinstance(kind, str) or kind not in TYPES:
        raise ValueError("This is not a treelab model: its type is unknown.")
    if header.get("version") != VERSION:
        raise ValueError(
            f"This model is stored in version {header.get('version')!r}, and this "
            f"treelab reads version {VERSION}. Use the treelab that wrote it."
        )
    cls = getattr(import_module(TYPES[kind]), kind)
    if not issubclass(cls, wanted):
        raise ValueError(f"This is a saved {kind}, not a {wanted.__name__}.")
    settings = header.get("settings")
    if not isinstance(settings, dict):
        raise ValueError("This is not a treelab model: it has no settings.")
    with refusing_damage(f"This saved {kind} is damaged: {{}}."):
        settings = {name: _unplain(value) for name, value in settings.items()}
        return cls.unpack(settings, arrays)


@contextmanager
def refusing_damage(sentence: str) -> Iterator[None]:
    """Turn what a damaged file may lead to into a ValueError of this sentence."""
    try:
        yield
    except (
        *(ValueError, KeyError, TypeError, IndexError, AttributeError),
        *(OverflowError, RecursionError),
    ) as error:
        if isinstance(error, ValueError) and str(error).endswith("."):
            raise  # a sentence of ours, which says what is wrong
        raise ValueError(sentence.format(error)) from error


def _plain(value):
    """Return a setting as JSON-safe values; what is not finite is spelled out."""
    if isinstance(value, pd.DataFrame):
        rows = value.astype(object).to_numpy().tolist()
        return {"$table": _plain([list(map(str, value.columns)), rows])}
    if isinstance(value, CellForm | Loss):
        return value.to_dict()
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return {"$float": str(value)}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"A model cannot store {value!r}.")


def _unplain(value):
    """Return the setting that ``_plain`` made JSON-safe."""
    if isinstance(value, list):
        return [_unplain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$float"}:
        return float(value["$float"])
    if value.keys() == {"$table"}:
        columns, rows = _unplain(value["$table"])
        return pd.DataFrame(rows, columns=columns)
    return {name: _unplain(item) for name, item in value.items()}


def _array_to_plain(array: np.ndarray) -> dict:
    """Return an array as its type, its shape and a flat list of its numbers."""
    flat = array.ravel().tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        flat = [x if isfinite(x) else str(x) for x in flat]
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": flat}


def _array_from_plain(name: str, plain) -> np.ndarray:
    """Return the array that ``_array_to_plain`` described."""
    try:
        if plain["dtype"] not in _ARRAY_TYPES:
            raise ValueError(f"its type {plain['dtype']!r} is unknown")
        return np.array(plain["data"], dtype=plain["dtype"]).reshape(plain["shape"])
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"Array {name!r} of this model is damaged: {error}.") from (
            error
        )


def _replace(contents: dict[Path, bytes]) -> None:
    """Write files beside their places, then move them there once all are written.

    So a disk that is full leaves the files of an older model, not one of each.
    """
    written: list[str] = []
    try:
        for path, content in contents.items():
            with NamedTemporaryFile(dir=path.parent, delete=False) as file:
                written.append(file.name)
                file.write(content)
        for name, path in zip(written, contents):
            os.replace(name, path)
    except BaseException:
        for name in written:
            Path(name).unlink(missing_ok=True)
        raise
