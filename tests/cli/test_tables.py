"""What is read of a file: all of it, or nothing; and no row decides how another is read."""

import gzip

import duckdb
import polars as pl
import pytest

import onesided as od
from onesided.cli._tables import expanded, fixed_part, partitions, reading, table_folder
from onesided.errors import DataError

LOST = {
    # DuckDB left to itself takes the second heading for the only one and skips what is above.
    "two files in one": ("person,place\n1,a\n2,b\nperson,place,time\n3,a,x\n4,b,y\n", "columns", 4),
    "one line too long": ("person,place\n1,a\n2,b\n3,a,x\n", "columns", 4),
    "one line too short": ("person,place\n1,a\n2,b\n3\n", "columns", 4),
    "a quote that does not end": ('person,place\n1,a\n2,b\n3,"a', "does not end", 4),
    "text after a quote": ('person,place\n1,"a"b\n', "goes on", 2),
    "two ends of line": ("person,place\r\n1,a\n2,b\r\n", "end in the same way", None),
}


def rows(path):
    with reading([path]) as (table,):
        return table.fetchall()


@pytest.fixture
def csv(tmp_path):
    def write(text):
        path = tmp_path / "visits.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize(("text", "says", "line"), LOST.values(), ids=LOST)
def test_a_file_of_which_rows_would_be_lost_is_refused(csv, text, says, line):
    with pytest.raises(DataError, match=says) as caught:
        rows(csv(text))
    assert "first line" in caught.value.hint
    assert line is None or f"(line {line})" in caught.value.reason


def test_every_column_is_text_whatever_the_rows_hold(csv):
    found = rows(csv("a,b,c\n1,2020-01-02,true\n007,03/02/2010,x\n"))
    assert found == [("1", "2020-01-02", "true"), ("007", "03/02/2010", "x")]


def test_no_row_is_taken_for_a_comment_or_a_heading(csv):
    assert sorted(rows(csv("person,place\n#1,a\n2,b\n"))) == [("#1", "a"), ("2", "b")]
    assert rows(csv("1,2\n3,4\n")) == [("3", "4")]


def test_ordinary_files_are_read_whole(csv):
    text = 'place;n\n"a;b";x\n"say ""hi""";y\n5" pipe;z\n"two\nlines";w\n'
    assert [row[0] for row in rows(csv(text))] == ["a;b", 'say "hi"', '5" pipe', "two\nlines"]
    assert rows(csv("place\na\nb\n")) == [("a",), ("b",)]
    assert rows(csv("person,place\r\n1,a\r\n")) == [("1", "a")]
    assert rows(csv(b"\xef\xbb\xbfperson,place\n1,\xc3\xa9\n")) == [("1", "é")]


@pytest.mark.parametrize("text", ["person,place\n", "person,place", "person\n"])
def test_an_empty_table_works_like_any_other(csv, text):
    assert rows(csv(text)) == []


def test_people_are_told_apart_by_their_text(csv):
    long = "8" * 40
    text = f'person,place\n007,1\n7,1\n7.0,2\n{long}1,2\n{long}2,2\n,3\n"",3\n'
    named = {("007", "1"), ("7", "1"), ("7.0", "2"), (long + "1", "2"), (long + "2", "2")}
    assert set(rows(csv(text))) == {*named, (None, "3")}


@pytest.mark.parametrize(
    ("text", "byte", "place"),
    [
        (b"person,place\n1,caf\xe9\n", "0xE9", "position 18 (line 2)"),
        (b"\xffperson,place\n1,a\n", "0xFF", "position 0 (line 1)"),
        (b"person,place\n" + b"1,a\n" * 300_000 + b"2,\xc3", "0xC3", "(line 300,002)"),
        (b"p\n" + b"x" * (2**20 - 3) + "é".encode() + b"\xff\n", "0xFF", "position 1,048,577 "),
    ],
)
def test_another_encoding_is_named_by_its_byte_and_place(csv, text, byte, place):
    with pytest.raises(DataError, match="not UTF-8") as caught:
        rows(csv(text))
    assert byte in caught.value.reason
    assert place in caught.value.reason


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("\na,b\n", "empty"),
        ("a,,c\n1,2,3\n", "column 2 has no name"),
        ("a,b,A\n1,2,3\n", "two columns are called 'A'"),
        ("a,b;c\n1,2\n", "unclear"),
        ('"a,b\n1,2\n', "does not end"),
        ("a" * 1_000_001, "longer"),
    ],
)
def test_a_first_line_that_names_no_columns_is_refused(csv, text, says):
    with pytest.raises(DataError, match=says):
        rows(csv(text))


@pytest.mark.parametrize(
    "name", ["v[1].csv", "v*.csv", "v?.csv", "it's.csv", "a b.csv", "x\\y[0].csv"]
)
def test_a_name_is_a_name(tmp_path, name):
    folder = tmp_path / "d[0]" / "place=z"
    folder.mkdir(parents=True)
    (folder / "v1.csv").write_text("person\nother\n")
    (folder / name).write_text("person\nright\n")
    with reading([folder / name]) as (table,):
        assert table.columns == ["person"]
        assert table.fetchall() == [("right",)]


def test_a_table_may_be_several_files_with_the_same_columns(tmp_path):
    for name, line in (("b", "2,y"), ("a", "1,x")):
        (tmp_path / f"{name}.csv").write_text(f"person,place\n{line}\n")
    files = expanded(str(tmp_path / "*.csv"))
    assert [path.name for path in files] == ["a.csv", "b.csv"]
    assert expanded(str(tmp_path)) == files
    with reading(files) as (table,):
        assert table.fetchall() == [("1", "x"), ("2", "y")]
    (tmp_path / "c.csv").write_text("place,person\nz,3\n")
    with pytest.raises(DataError, match="other columns"), reading(expanded(str(tmp_path))):
        pass
    with pytest.raises(DataError, match="no file for --input"):
        expanded(str(tmp_path / "*.parquet"))
    assert fixed_part("a/b/*/c[1].csv").parts == ("a", "b")


def test_types_of_parquet_files_must_agree(tmp_path):
    for name, value in (("a", "1"), ("b", "'1'")):
        duckdb.sql(f"select {value} as person").write_parquet(str(tmp_path / f"{name}.parquet"))
    with pytest.raises(DataError, match="INTEGER"), reading(expanded(str(tmp_path))):
        pass


def test_a_file_that_declares_too_much_is_not_unpacked(tmp_path):
    path = tmp_path / "bomb.parquet"
    rows_of_one = "select 1 as person, 'x' as place from range(20_000_000)"
    with duckdb.connect() as connection:
        connection.sql(rows_of_one).write_parquet(str(path), row_group_size=10_000_000)
    with pytest.raises(DataError, match="declares 20,000,000 rows"), reading([path]):
        pass


def test_reading_leaves_nothing_and_removes_what_killed_commands_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "v.csv").write_text("a\n1\n")
    left = tmp_path / "onesided-scratch-0011"
    (left / "spill").mkdir(parents=True)
    with reading([tmp_path / "v.csv"]) as (table,):
        (made,) = tmp_path.glob("onesided-scratch-*[!k]")
        assert made != left
        assert made.stat().st_mode & 0o777 == 0o700
        assert rows(tmp_path / "v.csv") == table.fetchall()  # another's folder is left alone
    assert [path.name for path in tmp_path.iterdir()] == ["v.csv"]


def test_nothing_is_drawn_among_the_results(tmp_path):
    """DuckDB draws a bar on the standard output, where programs read JSON."""
    (tmp_path / "a.csv").write_text("person,place\n1,a\n")
    with reading([tmp_path / "a.csv"]) as (table,):
        told = table.query("t", "SELECT current_setting('enable_progress_bar')").fetchall()
    assert told == [(False,)]


CP1252, UTF16 = od.Schema(encoding="cp1252"), od.Schema(encoding="utf-16")
TOOLS = {
    "pandas with its index": ("v.csv", b",person,place\n0,1,a\n1,2,a\n2,2,b\n"),
    "R with row names": ("v.csv", b'"","person","place"\n"1",1,"a"\n"2",2,"a"\n"3",2,"b"\n'),
    "a comma at each end": ("v.csv", b"person,place,\r\n1,a,\r\n2,a,\r\n2,b,\r\n"),
    "sep=": ("v.csv", b"sep=;\r\nperson;place\r\n1;a\r\n2;a\r\n2;b\r\n"),
    "UTF-16": ("v.csv", "person\tplace\n1\ta\n2\ta\n2\tb\n".encode("utf-16")),
    "packed": ("v.csv.gz", gzip.compress(b"\xef\xbb\xbfperson,place\n1,a\n2,a\n2,b\n")),
    "lines": (
        "v.jsonl",
        b'{"person": 1, "place": "a"}\n\n{"place": "a", "person": 2}\n{"person":2,"place":"b"}',
    ),
    "packed lines": (
        "v.JSONL.gz",
        gzip.compress(
            b'{"person":"1","place":"a"}\n{"person":2,"place":"a"}\n{"person":2,"place":"b"}'
        ),
    ),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_files_of_other_tools_are_read(tool, tmp_path):
    name, data = TOOLS[tool]
    (tmp_path / name).write_bytes(data)
    with reading([tmp_path / name]) as (table,):
        assert table.columns == ["person", "place"]
        assert sorted(table.fetchall()) == [("1", "a"), ("2", "a"), ("2", "b")]


def test_values_of_lines_keep_their_digits_and_missing_ones_are_null(tmp_path):
    path = tmp_path / "v.jsonl"
    lines = ['{"a": 1.50, "b": true, "c": null}', '{"a": 12345678901234567890, "c": "x,\\"y"}']
    path.write_text("\n".join(lines))
    with reading([path]) as (table,):
        assert table.fetchall() == [("1.50", "true", None), ("12345678901234567890", None, 'x,"y')]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"b": 1}', "'b' is no name"),
        ("[1]", "no object"),
        ('{"a": [1]}', "a list or an object"),
        ('{"a": 1, "a": 2}', "stands twice"),
        ('{"a": 1', "no JSON"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_line_that_is_no_row_is_named(line, why, tmp_path):
    path = tmp_path / "v.jsonl"
    path.write_text('{"a": 1}\n' + line)
    with pytest.raises(DataError, match=why) as caught, reading([path]):
        pass
    assert caught.value.values["line"] == 2


def test_an_encoding_is_declared_and_holds_for_every_byte(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes("person,ort\n1,Zürich\n".encode("cp1252"))
    with reading([path], schema=CP1252) as (table,):
        assert table.fetchall() == [("1", "Zürich")]
    with pytest.raises(DataError, match="not UTF-8") as caught, reading([path]):
        pass
    assert 'encoding = "cp1252"' in caught.value.hint
    path.write_bytes(b"person\n\x81\n")
    with pytest.raises(DataError, match="not CP1252"), reading([path], schema=CP1252):
        pass


def test_what_is_damaged_or_packed_to_fill_the_machine_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "v.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"1\n" * 10**6))
    monkeypatch.setattr("onesided.cli._tables._MOST_BYTES", 1000)
    with pytest.raises(DataError, match="unpacks to more"), reading([path]):
        pass
    path.write_bytes(gzip.compress(b"a\n1\n" * 100)[:-9])
    with pytest.raises(DataError, match="Cannot read"), reading([path]):
        pass


@pytest.mark.parametrize(
    ("name", "data", "way"),
    [
        ("v.xlsx", b"x", "CSV UTF-8"),
        ("v.json", b"x", ".jsonl"),
        ("v.tsv", b"x", "Rename it"),
        ("v.ndjson", b"x", "Rename it to .jsonl"),
        ("v.csv.zip", b"x", "Unpack it"),
        ("v.csv", gzip.compress(b"a\n1\n", mtime=0), "Add .gz"),
        ("v.csv", b"PK\x03\x04...", "CSV UTF-8"),
        ("v.jsonl", b"PAR1\x15\x04", "Call it .parquet"),
        ("v.csv", "person,place\n1,a\n".encode("utf-16-le"), 'encoding = "utf-16"'),
    ],
)
def test_a_file_of_another_kind_is_refused_with_the_way_out(name, data, way, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError) as caught, reading([tmp_path / name]):
        pass
    assert way in caught.value.hint


@pytest.mark.parametrize("name", ["b.ndjson", "b.csv.zip", "b.gz", "b.XLSX"])
def test_no_rows_of_a_folder_are_left_out(name, tmp_path):
    (tmp_path / "a.csv").write_text("person\n1\n")
    (tmp_path / "README.txt").touch()
    assert expanded(str(tmp_path)) == (tmp_path / "a.csv",)
    (tmp_path / name).touch()
    with pytest.raises(DataError, match="not one of"):
        expanded(str(tmp_path))


def test_nan_is_nobody_in_lines_of_json(tmp_path):
    path = tmp_path / "v.jsonl"
    path.write_text('{"person": NaN, "height": 1.80}\n{"person": "NaN", "height": Infinity}\n')
    with reading([path]) as (table,):
        assert table.fetchall() == [(None, "1.80"), ("NaN", "Infinity")]


def test_folders_called_name_and_value_give_a_column(tmp_path):
    for day, people in (("2026-11-02", [1, 2]), ("__HIVE_DEFAULT_PARTITION__", [3])):
        folder = tmp_path / "visits" / f"day={day}" / "city=Z%C3%BCrich"
        folder.mkdir(parents=True)
        pl.DataFrame({"person": people}).write_parquet(folder / "0.parquet")
    files = expanded(str(tmp_path / "visits"))
    with reading(files, base=tmp_path / "visits") as (table,):
        assert table.columns == ["person", "day", "city"]
        assert sorted(table.fetchall()) == [
            (1, "2026-11-02", "Zürich"),
            (2, "2026-11-02", "Zürich"),
            (3, None, "Zürich"),
        ]
    pl.DataFrame({"person": [1], "Day": ["x"]}).write_parquet(files[0])
    with pytest.raises(DataError, match="and so has the folder"):
        reading(files[:1], base=tmp_path).__enter__()


@pytest.mark.parametrize("inner", ["\n7,b", '\n7,""b""', '""\n7,b'])
def test_a_quoted_text_goes_on_where_another_reader_would_start(csv, inner):
    """Of files beyond 8 MB, readers of their own take each piece: some would start within it."""
    sizes = [100_000, 1] * 30
    lines = [f'{place},"{inner * size}"' for place, size in enumerate(sizes)]
    found = rows(csv("\n".join(["person,place", *lines, ""])))
    text = inner.replace('""', '"')
    assert found == [(str(place), text * size) for place, size in enumerate(sizes)]


def test_a_quote_that_does_not_end_is_found_in_a_large_file(csv):
    filler = f'1,"{"a" * 1000}"\n' * 9_000
    with pytest.raises(DataError, match=r"does not end, or goes on after its quote \(line 9,002\)"):
        rows(csv(f'person,place\n{filler}2,"b\n3,c\n'))


def test_rows_are_never_left_out_or_shifted_without_a_word(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("person,place,\nDoe, Jane,gym\n")
    with pytest.raises(DataError, match="last column has no name, and has values"):
        reading([path]).__enter__()
    path.write_text("person,place\n1,a\n")
    (tmp_path / "older").mkdir()
    with pytest.raises(DataError, match="is a folder in"):
        expanded(str(tmp_path))
    (tmp_path / "older").rmdir()
    (tmp_path / "w.tsv").write_text("person\tplace\n")
    with pytest.raises(DataError, match=r"w\.tsv"):
        expanded(str(tmp_path))
    twice = tmp_path / "day=1" / "day=2" / "v.csv"
    with pytest.raises(DataError, match="two folders called day="):
        partitions(twice, tmp_path)


def test_all_ways_to_name_a_part_of_a_table_share_its_folder(tmp_path):
    assert table_folder(tmp_path / "visits" / "day=1" / "city=a" / "0.csv").name == "visits"
    assert table_folder(tmp_path / "=" / "0.csv") == (tmp_path / "=").resolve()
    assert table_folder(tmp_path / "user=ann" / "work" / "0.csv").name == "work"


def test_a_mark_decides_and_utf8_is_read_as_nothing_else(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "ort\nZürich\n".encode())
    with reading([path], schema=CP1252) as (table,):
        assert (table.columns, table.fetchall()) == (["ort"], [("Zürich",)])
    path.write_bytes("ort\nZürich\n".encode())
    with pytest.raises(DataError, match="is UTF-8, and read as cp1252"):
        reading([path], schema=CP1252).__enter__()
    path.write_bytes(b"ort\nBern\n")
    with reading([path], schema=CP1252) as (table,):
        assert table.fetchall() == [("Bern",)]
    with pytest.raises(DataError, match="not UTF-16"):
        reading([path], schema=UTF16).__enter__()


def test_what_is_no_text_in_a_line_is_missing(tmp_path):
    path = tmp_path / "v.jsonl"
    path.write_bytes(b'{"place": "\\ud83d"}\n{"place": "a"}\n')
    with reading([path]) as (table,):
        assert table.fetchall() == [(None,), ("a",)]


def test_a_name_says_how_it_is_read_by_its_end_alone(tmp_path):
    path = tmp_path / "v.jsonl.csv"
    path.write_text("sep=;\rperson;place\r1;a\r")
    with reading([path]) as (table,):
        assert table.fetchall() == [("1", "a")]
