"""Dataclasses of read-only arrays, and how they are taken apart to be stored."""

from dataclasses import fields
from typing import ClassVar

import numpy as np

from treelab.trees.cells import as_form
from treelab.trees.feature import Feature
from treelab.trees.io import Stored
from treelab.trees.labels import plain_label


class Arrays(Stored):
    """Base of a frozen dataclass of features, read-only arrays and plain settings."""

    array_types: ClassVar[dict[str, type]]

    def __post_init__(self):
        put = object.__setattr__
        put(self, "features", tuple(self.features))
        put(self, "notes", tuple(str(note) for note in self.notes))
        put(self, "target_form", as_form(self.target_form))
        if self.classes is not None:
            if isinstance(self.classes, str) or not len(self.classes):
                raise ValueError(
                    f"classes must be a sequence of labels, got {self.classes!r}."
                )
            put(self, "classes", tuple(plain_label(c) for c in self.classes))
            if len(set(self.classes)) != len(self.classes):
                raise ValueError(f"A class is listed twice: {list(self.classes)}.")
        for name, dtype in self.array_types.items():
            array = getattr(self, name)
            if array is not None:
                put(self, name, frozen(exact_copy(name, array, dtype)))

    def __setstate__(self, state):
        self.__dict__.update(state)
        for array in self.__dict__.values():  # copies come back as arrays that change
            if isinstance(array, np.ndarray):
                frozen(array)

    def pack(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Return plain settings and named arrays, from which ``unpack`` rebuilds it."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        own = {name: getattr(self, name) for name in names}
        arrays = {name: own.pop(name) for name in self.array_types}
        return own, {name: a for name, a in arrays.items() if a is not None}

    @classmethod
    def unpack(cls, settings: dict, arrays: dict[str, np.ndarray]):
        """Rebuild the object that ``pack`` took apart; it may share its features."""
        features = [
            own if isinstance(own, Feature) else Feature(**own)
            for own in settings["features"]
        ]
        return cls(**{**settings, "features": features}, **arrays)


def frozen(array: np.ndarray) -> np.ndarray:
    """Return the array, made read-only."""
    array.flags.writeable = False
    return array


def exact_copy(name: str, array, dtype) -> np.ndarray:
    """Return a copy of the array in this type, or ValueError where it does not fit."""
    try:
        given = np.asarray(array)
        with np.errstate(invalid="ignore"):
            copy = np.array(given, dtype=dtype)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from error
    if copy.dtype.kind != "f" and not np.array_equal(copy, given):
        raise ValueError(f"{name} must hold {copy.dtype.name} values, got {given!r}.")
    return copy
