"""The header of a GGUF file: its keys and its tensors' places, read without their data.

The reader of the gguf package builds an object per token (19 s and 500 MB for a vocabulary of
150,000) and trusts what it reads; this one skips long arrays and checks every length against the
file. Value types and block sizes are the package's.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import gguf

if TYPE_CHECKING:
    from pathlib import Path

Value = int | float | bool | str | list[int | float | bool]

_KEPT_ELEMENTS = 4096
"""Longer arrays are only counted; those with a value per layer are far shorter."""
_MOST_ELEMENTS = 1 << 24
_MOST_DIMENSIONS = 4
_VERSIONS = (2, 3)
_DEFAULT_ALIGNMENT = 32

_TEXT = gguf.GGUFValueType.STRING
_ARRAY = gguf.GGUFValueType.ARRAY
_NUMBERS = {
    gguf.GGUFValueType.UINT8: "<B",
    gguf.GGUFValueType.INT8: "<b",
    gguf.GGUFValueType.UINT16: "<H",
    gguf.GGUFValueType.INT16: "<h",
    gguf.GGUFValueType.UINT32: "<I",
    gguf.GGUFValueType.INT32: "<i",
    gguf.GGUFValueType.FLOAT32: "<f",
    gguf.GGUFValueType.BOOL: "<?",
    gguf.GGUFValueType.UINT64: "<Q",
    gguf.GGUFValueType.INT64: "<q",
    gguf.GGUFValueType.FLOAT64: "<d",
}
"""Value types and their formats in `struct`."""


class Damaged(Exception):
    """The bytes are not a whole GGUF file; the text says what is wrong."""


@dataclass(frozen=True)
class Header:
    """Keys, and sums over the tensors."""

    values: dict[str, Value]
    """Keys whose values are numbers, texts or short arrays of numbers."""
    counts: dict[str, int]
    """Lengths of all arrays, kept or not."""
    parameters: int
    """Elements of all tensors."""
    tensor_bytes: int
    """Bytes of all tensors."""
    whole: dict[str, list[str] | list[int | float | bool]]
    """Arrays of any length that were asked for, as far as the file has them."""


def read(path: Path, *, whole: frozenset[str] = frozenset()) -> Header:
    """The header of the file; `whole` names arrays that are wanted however long they are.

    Raises:
        Damaged: it is no GGUF, of a version that llama.cpp does not read, or cut short.
        OSError: the file cannot be read.
    """
    if path.exists() and not path.is_file():  # opening a pipe would wait for its other end
        raise Damaged("it is not a file")
    with path.open("rb") as file:
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # an empty file cannot be mapped
            raise Damaged("it is empty") from None
        with data:
            try:
                return _Reader(data, whole).header()
            except (struct.error, OverflowError):
                raise Damaged("it ends within its header") from None
            except UnicodeDecodeError:
                raise Damaged("a name or text in its header is not UTF-8") from None


class _Reader:
    """Walks over the mapped file; `struct.error` or `OverflowError` where it would leave it."""

    def __init__(self, data: mmap.mmap, whole: frozenset[str]) -> None:
        self._data = data
        self._wanted = whole
        self._whole: dict[str, list[str] | list[int | float | bool]] = {}
        self._at = 0

    def header(self) -> Header:
        if self._data[:4] != b"GGUF":
            raise Damaged("it is not a GGUF file")
        self._at = 4
        version = self._integer("<I")
        if version not in _VERSIONS:
            raise Damaged(f"its GGUF version is {version}; 2 and 3 can be read")
        tensors = self._count()
        keys = self._count()
        values: dict[str, Value] = {}
        counts: dict[str, int] = {}
        for _ in range(keys):
            key = self._text()
            kind = self._integer("<I")
            if kind == _ARRAY:
                counts[key], elements = self._array(key)
                if elements is not None:
                    values[key] = elements
            else:
                values[key] = self._text() if kind == _TEXT else self._numbers(kind, 1)[0]
        alignment = values.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment <= 0:
            raise Damaged("its alignment is not a whole number above 0")
        return Header(values, counts, *self._tensors(tensors, alignment), self._whole)

    def _tensors(self, count: int, alignment: int) -> tuple[int, int]:
        """Elements and bytes of all tensors, each checked to lie within the file."""
        elements = size = end = 0
        for _ in range(count):
            name = self._text()
            dimensions = self._integer("<I")
            if dimensions > _MOST_DIMENSIONS:
                raise Damaged(f"its tensor {name[:64]!r} has {dimensions} dimensions")
            shape = [self._integer("<Q") for _ in range(dimensions)]
            kind = self._integer("<I")
            offset = self._integer("<Q")
            if (block := gguf.GGML_QUANT_SIZES.get(kind)) is None:
                raise Damaged(f"its tensor {name[:64]!r} is of an unknown type ({kind})")
            tensor_bytes = prod(shape) // block[0] * block[1]
            elements += prod(shape)
            size += tensor_bytes
            end = max(end, offset + tensor_bytes)
        start = -(-self._at // alignment) * alignment
        if end > 0 and start + end > len(self._data):
            raise Damaged(f"it is cut short: {len(self._data)} bytes of {start + end} are here")
        return elements, size

    def _array(self, key: str) -> tuple[int, list[int | float | bool] | None]:
        """How many elements an array has, and the elements of a short one of numbers."""
        kind = self._integer("<I")
        count = self._count()
        if key in self._wanted:
            at = self._at
            self._whole[key] = (
                [self._text() for _ in range(count)]
                if kind == _TEXT
                else self._numbers(kind, count)
            )
            self._at = at
        if kind == _TEXT:
            self._skip_texts(count)
            return count, None
        if count > _KEPT_ELEMENTS:
            self._at += count * struct.calcsize(self._format(kind))
            return count, None
        return count, self._numbers(kind, count)

    def _skip_texts(self, count: int) -> None:
        data, at, length_at = self._data, self._at, struct.Struct("<Q").unpack_from
        for _ in range(count):
            at += 8 + length_at(data, at)[0]
        self._at = at

    def _numbers(self, kind: int, count: int) -> list[int | float | bool]:
        form = self._format(kind)
        numbers = struct.unpack_from(f"<{count}{form[1]}", self._data, self._at)
        self._at += struct.calcsize(form) * count
        return list(numbers)

    def _format(self, kind: int) -> str:
        if (form := _NUMBERS.get(kind)) is None:
            raise Damaged(f"its header has a value of an unknown type ({kind})")
        return form

    def _integer(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        assert isinstance(value, int)
        return value

    def _count(self) -> int:
        count = self._integer("<Q")
        if count > _MOST_ELEMENTS:
            raise Damaged(f"its header counts {count} elements")
        return count

    def _text(self) -> str:
        length = self._integer("<Q")
        if length > len(self._data) - self._at:
            raise Damaged("it ends within its header")
        self._at += length
        return self._data[self._at - length : self._at].decode()
