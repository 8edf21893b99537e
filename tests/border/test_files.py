"""Random CSV files, TOML texts and batches: right, or refused by an error of ours; nothing else."""

import csv
import io
import math
import random

import pytest

import onesided as od
from onesided.cli._tables import reading
from onesided.errors import DataError, OnesidedError, SchemaError
from onesided.schema import heading_of

PIECES = [
    b"person", b"place", b"1", b"007", b"a", b"=1+1", b"\xc3\xa9", b"\xe9", b"\xff\xfe", b"\x00",
    b",", b",", b",", b";", b"\t", b"|", b'"', b'"', b'""', b"\n", b"\n", b"\n", b"\r\n", b"\r",
    b"#", b" ",
    b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"NULL", b"2020-01-02", b"'", b"\\",
]  # fmt: skip


def some_csv(dice):
    """Half of them begin as a file of visits does."""
    start = dice.choice([b"", b"person,place\n1,a\n"])
    return start + b"".join(dice.choices(PIECES, k=dice.randrange(24)))


def by_the_book(text, heading):
    """Rows below the heading as Python's strict reader has them; empty lines are no rows.

    DuckDB passes over empty fields too many at the end of a line. Columns without a name are left
    out; values under the last of them make the file unreadable.
    """
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=heading.delimiter, strict=True)
    rows, width = [row for row in lines if row][1:], len(heading.names)
    cut = [row[:width] if not any(row[width:]) else row for row in rows]
    named = [place for place, name in enumerate(heading.names) if name]
    return [tuple(row[place] or None for place in named) for row in cut]


def test_a_csv_file_is_read_by_the_book_or_refused(tmp_path, rounds):
    dice, read, path = random.Random(5), 0, tmp_path / "v.csv"
    for _ in rounds(100):
        data = some_csv(dice)
        path.write_bytes(data)
        try:
            heading = heading_of(path)
            with reading([path]) as (table,):
                rows = table.fetchall()
        except DataError:
            continue
        read += 1
        wanted = by_the_book(data.decode("utf-8-sig"), heading)
        if len(heading.names) == 1:  # an empty line is a row of one empty field
            rows, wanted = ([row for row in some if row != (None,)] for some in (rows, wanted))
        assert rows == wanted, data
    assert read > 10


@pytest.mark.parametrize(
    "data",
    [b'person,place\n1, "\n2,b\n3, "\n', b'person, "place\n1,a\n2,b"\n', b' "person",place\n1,a\n'],
)
def test_a_quote_after_blanks_never_takes_in_the_rows_below(tmp_path, data):
    path = tmp_path / "v.csv"
    path.write_bytes(data)
    with pytest.raises(DataError, match="a quote follows blanks"), reading([path]):
        pass


def test_a_heading_is_one_line(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes(b'"place\nname"\r\n,a\r\nb')
    with pytest.raises(DataError, match="goes over several lines"), reading([path]):
        pass


def test_blanks_and_quotes_within_a_text_are_its_own(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes(b'person,place\n1,"a, ""x"" , "" b"\n2,"  ""x"""\n3,a "b"\n')
    with reading([path]) as (table,):
        assert table.fetchall() == [("1", 'a, "x" , " b'), ("2", '  "x"'), ("3", 'a "b"')]


def test_no_first_line_ends_in_a_raw_error(tmp_path, rounds):
    dice, path = random.Random(6), tmp_path / "v.csv"
    for _ in rounds(1_000):
        path.write_bytes(some_csv(dice))
        try:
            heading = heading_of(path)
        except DataError:
            continue
        named = [name.casefold() for name in heading.names if name]
        assert len(set(named)) == len(named) >= len(heading.names) - 2


TEXTS = [
    od.policy.presence(max_groups=3).to_toml(),
    od.policy.bounded().to_toml(),
    od.policy.addition_only().to_toml(),
    od.policy.graph([("a", "b"), ("b", "c")]).to_toml(),
]
TOKENS = ["[", "]", "[[", "]]", "=", '"', "'", "\n", ".", "nan", "-1", "1e999", "true", "{", "}",
          ",", "\x00", "é", "2020-01-02", "[parameters]",
          "max_groups", "family", "9" * 400, '"""']  # fmt: skip


def test_a_policy_file_is_a_policy_or_refused(rounds):
    dice, read = random.Random(7), 0
    for _ in rounds(1_000):
        text = dice.choice(TEXTS)
        for _ in range(dice.randrange(1, 4)):
            at, cut = dice.randrange(len(text) + 1), dice.randrange(4)
            text = text[:at] + dice.choice([*TOKENS, ""]) + text[at + cut :]
        try:
            od.policy.from_toml(text)
        except OnesidedError:
            continue
        read += 1
    assert read > 5


SCHEMA = """\
unit = "person"
[columns.age]
type = "integer"
bounds = [0, 110]
step = 1
about = "years"
[columns.x]
type = "number"
bounds = [-0.5, "1/3"]
[columns.place]
type = "text"
keys = ["a", "b"]
[columns.day]
type = "date"
keys = [2008-02-29, "2008-03-01"]
[columns.at]
type = "datetime with zone"
keys = "k.csv"
"""
MORE = [*TOKENS, "unit", "columns", "bounds", "step", "keys", "about", "type", "integer", "time",
        "[columns.AGE]", "[columns]", "[0, 1]", "0.1", "1e99", "inf", "1979-05-27T07:32:00Z",
        "07:32:00", "k.parquet", "\\u0000", "\\ud800", "\ud800", "\u2028"]  # fmt: skip


def test_a_schema_file_is_a_schema_or_refused_with_its_line(rounds):
    dice, read, lines = random.Random(9), 0, 0
    for _ in rounds(1_000):
        text = SCHEMA
        for _ in range(dice.randrange(1, 4)):
            at, cut = dice.randrange(len(text) + 1), dice.randrange(4)
            text = text[:at] + dice.choice([*MORE, ""]) + text[at + cut :]
        try:
            schema = od.Schema.from_toml(text)
        except SchemaError as error:
            lines += "line" in error.values and bool(error.hint)
            continue
        assert od.Schema.from_toml(schema.to_toml()) == schema
        assert schema.explain()
        read += 1
    assert read > 5
    assert lines > 5


VALUES = [
    None,
    0,
    1,
    -1,
    2**70,
    1.0,
    math.nan,
    math.inf,
    "",
    "a",
    "1",
    "\ud800",
    b"a",
    True,
    (),
    [1],
    {},
    object(),
]


@pytest.mark.parametrize("on_unknown", ["ignore", "error"])
def test_a_batch_is_taken_in_or_refused(on_unknown, rounds):
    dice, taken = random.Random(8), 0
    with od.Monitor(
        ["a", "b"],
        at_most=1,
        window=None,
        epsilon=1,
        policy=od.policy.presence(max_groups=1),
        on_unknown=on_unknown,
    ) as monitor:
        for number in rounds(300):
            columns = {
                dice.choice(["person", "person", "place", "place", "time", "x"]): [
                    dice.choice(VALUES if dice.random() < 0.3 else ["a", "b"])
                    for _ in range(dice.randrange(3))
                ]
                for _ in range(3)
            }
            batch = columns if dice.random() < 0.9 else dice.choice(VALUES)
            try:
                monitor.step(batch, id=dice.choice([f"b{number}", "b1", None, 3, "\x00"]))
            except OnesidedError:
                continue
            taken += 1
    assert taken > 5
