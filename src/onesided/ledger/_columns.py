"""Answers as binary columns: a line of JSON, then one NumPy array (npy 1.0) per column.

    magic       "onesided columns 1" and a line feed
    8 bytes     the length of the JSON that follows (little endian, as all numbers here)
    JSON        {"columns": [names in order], "meta": {...}}
    per column  8 bytes, the length of the npy block; then the block

Reading trusts nothing: names, types, shapes and lengths are compared with what is really there
before anything is made of them, and arrays are views of the bytes that were read. A block is read
by the one header that NumPy writes for the types below, never by NumPy's own reader, which
evaluates headers and unpickles objects.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from onesided.errors import LedgerFormatError, ParameterError
from onesided.store import canonical, read_json

MAGIC: Final = b"onesided columns 1\n"
_NUMBER: Final = 8
_TYPES: Final = frozenset(
    {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8"}
)
_TEXT: Final = re.compile(r"<U([1-9][0-9]{0,8})")
_HEADER: Final = re.compile(
    rb"\{'descr': '([^']{3,12})', 'fortran_order': False, "
    rb"'shape': \(((?:[0-9]{1,18},(?: [0-9]{1,18})?)?|[0-9]{1,18}(?:, [0-9]{1,18}){1,7})\), \} *\n"
)
_NPY: Final = b"\x93NUMPY\x01\x00"
_LAST_CHARACTER: Final = 0x10FFFF
_SURROGATES: Final = (0xD800, 0xDFFF)


def encode_columns(meta: Mapping[str, object], columns: Mapping[str, NDArray[Any]]) -> bytes:
    """``meta`` and ``columns`` as bytes that :func:`decode_columns` reads back unchanged.

    meta: JSON values. columns: arrays of booleans, whole numbers, floats or text, by name.
    Errors: ParameterError for other types, such as objects, and for meta that is no JSON.

    >>> import numpy as np
    >>> kept = encode_columns({"by": "place"}, {"upper": np.array([3, 0])})
    >>> decode_columns(kept)
    ({'by': 'place'}, {'upper': array([3, 0])})
    """
    try:
        head = canonical({"meta": dict(meta), "columns": list(columns)}).encode()
        read_json(head)
    except (TypeError, ValueError, RecursionError):
        raise ParameterError(
            "an answer's facts must be JSON values, and not too many.",
            hint="Put what is as long as the answer into columns.",
        ) from None
    parts = [MAGIC, _number(len(head)), head]
    for name, given in columns.items():
        column = np.asarray(given)
        column = column.astype(column.dtype.newbyteorder("<"), copy=False)
        if column.dtype.str == "<U0":
            column = column.astype("<U1")
        if column.dtype.str not in _TYPES and not _TEXT.fullmatch(column.dtype.str):
            raise ParameterError(
                f"column {name!r} of an answer has the type {column.dtype}.",
                hint="Give booleans, whole numbers, floats or text.",
                column=name,
            )
        out, rows = io.BytesIO(), np.ascontiguousarray(column)
        np.lib.format.write_array(out, rows, version=(1, 0), allow_pickle=False)
        parts += [_number(out.tell()), out.getvalue()]
    return b"".join(parts)


def decode_columns(payload: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What :func:`encode_columns` was given; the arrays are read-only.

    Errors: LedgerFormatError for anything else, before memory is taken for it.

    >>> decode_columns(b"something else")
    Traceback (most recent call last):
    ...
    onesided.errors.LedgerFormatError: the stored answer cannot be read: it has another format.
    Hint: Check the ledger; a newer release of onesided may have written it.
    """
    view = memoryview(payload)
    if not holds_columns(payload):
        _refuse("it has another format")
    blocks = _pieces(view[len(MAGIC) :])
    head = _head(bytes(next(blocks, b"")))
    names, meta = head["columns"], head["meta"]
    columns = {name: _column(block) for name, block in zip(names, blocks, strict=False)}
    if len(columns) != len(names) or next(blocks, None) is not None:
        _refuse("it does not hold the columns that it names")
    return meta, columns


def holds_columns(payload: bytes) -> bool:
    """Whether ``payload`` is of this format, and not an answer of 0.1.0.

    >>> holds_columns(b'{"answer": {}}')
    False
    """
    return payload.startswith(MAGIC)


def _pieces(view: memoryview) -> Iterator[memoryview]:
    """The parts, each after its length, one by one."""
    while view:
        size = int.from_bytes(view[:_NUMBER], "little")
        if len(view) < _NUMBER or size > len(view) - _NUMBER:
            _refuse("a part is longer than what is there")
        yield view[_NUMBER : _NUMBER + size]
        view = view[_NUMBER + size :]


def _head(written: bytes) -> dict[str, Any]:
    try:
        head = read_json(written)
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.keys() != {"columns", "meta"}:
        _refuse("its first line cannot be read")
    names, meta = head["columns"], head["meta"]
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not texts or not isinstance(meta, dict) or len(set(names)) != len(names):
        _refuse("its first line cannot be read")
    return head


def _column(block: memoryview) -> NDArray[Any]:
    start = len(_NPY) + 2
    length = int.from_bytes(block[len(_NPY) : start], "little")
    found = _HEADER.fullmatch(block[start : start + length])
    if bytes(block[: len(_NPY)]) != _NPY or found is None:
        _refuse("a column is not one of ours")
    kind = found.group(1).decode("ascii", "replace")
    if kind not in _TYPES and not _TEXT.fullmatch(kind):
        _refuse(f"a column has the type {kind!r}")
    shape = tuple(int(size) for size in re.findall(rb"[0-9]+", found.group(2)))
    dtype, data = np.dtype(kind), block[start + length :]
    if prod(shape) * dtype.itemsize != len(data) or len(shape) == 0:
        _refuse("a column is not as long as it says")
    column = np.frombuffer(data, dtype=dtype).reshape(shape)
    if dtype.kind == "b" and (column.view(np.uint8) > 1).any():
        _refuse("a column of booleans holds something else")
    if dtype.kind == "U":
        codes = np.frombuffer(data, dtype="<u4")
        low, high = _SURROGATES
        if ((codes > _LAST_CHARACTER) | ((codes >= low) & (codes <= high))).any():
            _refuse("a column of text holds what is no character")
    return column


def _number(value: int) -> bytes:
    return value.to_bytes(_NUMBER, "little")


def _refuse(problem: str) -> NoReturn:
    raise LedgerFormatError(
        f"the stored answer cannot be read: {problem}.",
        hint="Check the ledger; a newer release of onesided may have written it.",
        problem=problem,
    )
