"""Answers as binary columns: read back unchanged, and hostile bytes refused early."""

import contextlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from onesided import errors
from onesided.ledger import decode_columns, encode_columns, holds_columns

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", ">i8", "U5"]
text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5)


@given(
    column=st.one_of(
        *(
            arrays.arrays(
                np.dtype(kind),
                arrays.array_shapes(max_dims=3, min_side=0),
                elements=text if kind == "U5" else None,
            )
            for kind in TYPES
        )
    ),
    meta=st.dictionaries(text, st.one_of(st.none(), st.integers(), text, st.lists(text))),
)
def test_columns_come_back_unchanged(column, meta):
    read, columns = decode_columns(encode_columns(meta, {"x": column, "y": np.arange(3)}))
    assert read == meta
    assert list(columns) == ["x", "y"]
    assert columns["x"].shape == column.shape
    assert columns["x"].dtype.newbyteorder("=") == column.dtype.newbyteorder("=")
    assert np.array_equal(columns["x"], column, equal_nan=column.dtype.kind == "f")
    with pytest.raises(ValueError, match="read-only"):
        columns["y"][0] = 1


@pytest.mark.parametrize("column", [[object()], [None], [1j], [b"x"], np.array(["2020"], "M8[D]")])
def test_other_types_are_refused(column):
    with pytest.raises(errors.ParameterError, match="column 'x'"):
        encode_columns({}, {"x": np.array(column)})


def test_facts_that_are_no_json_are_refused():
    deep = []
    for _ in range(10**6):
        deep = [deep]
    for meta in ({"x": object()}, {"x": float("nan")}, {"x": deep}, {"x": list(range(2 * 10**6))}):
        with pytest.raises(errors.ParameterError, match="JSON values"):
            encode_columns(meta, {})


def test_an_answer_of_0_1_0_is_told_apart():
    assert holds_columns(encode_columns({}, {}))
    assert not holds_columns(b'{"about":{},"answer":{}}')


GOOD = encode_columns(
    {"a": 1}, {"x": np.arange(5), "y": np.array(["é", "b"]), "z": np.ones(2, "?")}
)


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_a_changed_byte_is_refused_or_read(place, byte):
    """Never another error, whatever is changed; the ledger's hash finds the rest."""
    changed = bytearray(GOOD)
    changed[place] = byte
    with contextlib.suppress(errors.LedgerFormatError):
        decode_columns(bytes(changed))


@given(st.integers(0, len(GOOD) - 1))
def test_a_shorter_answer_is_refused(length):
    with pytest.raises(errors.LedgerFormatError):
        decode_columns(GOOD[:length])


def npy(descr, shape, data=b"", order="False"):
    head = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + data


def payload(head, *blocks):
    parts = [head, *blocks]
    return b"onesided columns 1\n" + b"".join(len(p).to_bytes(8, "little") + p for p in parts)


ONE = b'{"columns":["x"],"meta":{}}'
HOSTILE = {
    "long": payload(ONE) + (2**63).to_bytes(8, "little"),
    "wide": payload(ONE, npy("'<i8'", f"({2**40},)")),
    "overflow": payload(ONE, npy("'<i8'", f"({2**32}, {2**32})")),
    "negative": payload(ONE, npy("'<i8'", "(-1,)")),
    "object": payload(ONE, npy("'|O'", "(1,)", b"cos\nsystem\n(S'true'\ntR.")),
    "structured": payload(ONE, npy("[('a', '<i8')]", "(1,)", bytes(8))),
    "moment": payload(ONE, npy("'<M8[us]'", "(1,)", bytes(8))),
    "scalar": payload(ONE, npy("'<i8'", "()", bytes(8))),
    "fortran": payload(ONE, npy("'<i8'", "(1,)", bytes(8), order="True")),
    "code": payload(ONE, npy("'<i8'", "(1,) + __import__('os').system('true')", bytes(8))),
    "boolean": payload(ONE, npy("'|b1'", "(1,)", b"\x02")),
    "surrogate": payload(ONE, npy("'<U1'", "(1,)", b"\x00\xd8\x00\x00")),
    "no character": payload(ONE, npy("'<U1'", "(1,)", b"\xff\xff\xff\xff")),
    "no column": payload(ONE),
    "more columns": payload(ONE, *[npy("'<i8'", "(0,)")] * 2),
    "same name": payload(b'{"columns":["x","x"],"meta":{}}', *[npy("'<i8'", "(0,)")] * 2),
    "no names": payload(b'{"columns":[["x"]],"meta":{}}', npy("'<i8'", "(0,)")),
    "deep": payload(b'{"columns":[],"meta":{"a":' + b"[" * 10**6 + b"]" * 10**6 + b"}}"),
    "many": payload(b'{"columns":[],"meta":{"a":[' + b"[]," * 10**7 + b"1]}}"),
    "digits": payload(b'{"columns":[],"meta":{"a":' + b"1" * 10**6 + b"}}"),
    "newer": b"onesided columns 2\n",
    "empty": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_are_refused(name):
    with pytest.raises(errors.LedgerFormatError, match="stored answer cannot be read"):
        decode_columns(HOSTILE[name])


SMALL = """
import resource, sys
import numpy
from onesided import errors
from onesided.ledger import decode_columns
head = b'{"columns":[],"meta":{"a":['
worst = (b'{"a":0},' * 240_000 + b'1]}}', b"[]," * 10**7 + b"1]}}", b"[" * 10**7)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for rest in worst:
    size = len(head + rest).to_bytes(8, "little")
    try:
        decode_columns(b"onesided columns 1\\n" + size + head + rest)
    except errors.LedgerFormatError:
        pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_hostile_answers_take_little_memory():
    done = subprocess.run([sys.executable, "-c", SMALL], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200
