"""What a schema file makes of a CSV file: strict forms, everything else unknown."""

import duckdb
import pytest

from onesided.cli._schema import read_schema
from onesided.cli._tables import reading
from onesided.errors import DataError, ParameterError, UnknownColumnError

READ = {
    "boolean": (["true", "FALSE", "1", "yes", ""], [True, False, True, None, None]),
    "integer": (["+7", "007", "7.0", "9" * 19, " 1"], [7, 7, None, None, None]),
    "number": (["1.5", "1e2", "nan", "inf", "1e999", "1,5"], [1.5, 100.0, None, None, None, None]),
    "date": (["2008-02-10", "2008-02-30", "10/02/2008", "0000-01-01"], ["2008-02-10"] + [None] * 3),
    "datetime": (["2008-02-10T07:30", "2008-02-10", "now"], ["2008-02-10 07:30:00", None, None]),
    "time": (["07:30", "24:00", "7:30"], ["07:30:00", None, None]),
    "text": (["007", "", "nan"], ["007", None, "nan"]),
}


def declared(tmp_path, text):
    path = tmp_path / "v.schema.toml"
    path.write_text(text)
    return read_schema(path, unit=None)


@pytest.mark.parametrize("kind", READ)
def test_a_column_is_read_strictly_row_by_row(tmp_path, kind):
    texts, values = READ[kind]
    path = tmp_path / "v.csv"
    path.write_text("i,x\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(texts)))
    schema = declared(tmp_path, f'[columns.x]\ntype = "{kind}"\n')
    with reading([path]) as (table,):
        rows = schema.typed(table, path=path).fetchall()
        unread = sum(v is None and t != "" for t, v in zip(texts, values, strict=True))
        assert schema.unreadable(table) == ({"x": unread} if unread else {})
    found = {int(i): value for i, value in rows}
    plain = [v if v is None or isinstance(v, int | float | str) else str(v) for v in values]
    assert [
        v if v is None or isinstance(v, int | float | str) else str(v)
        for v in (found[i] for i in range(len(texts)))
    ] == plain


def test_a_schema_must_fit_the_table(tmp_path):
    path = tmp_path / "v.parquet"
    duckdb.sql("select 1 as person").write_parquet(str(path))
    with reading([path]) as (table,):
        declared(tmp_path, '[columns.person]\ntype = "integer"\n').typed(table, path=path)
        with pytest.raises(DataError, match="as text, but"):
            declared(tmp_path, '[columns.person]\ntype = "text"\n').typed(table, path=path)
        with pytest.raises(UnknownColumnError, match="'age'"):
            declared(tmp_path, '[columns.age]\ntype = "integer"\n').typed(table, path=path)


@pytest.mark.parametrize(
    "text", ["x = 1", "a", 'unit = ["a"]', '[columns.x]\ntype = "float"', "[columns]\nx = 1"]
)
def test_what_is_no_schema_is_refused(tmp_path, text):
    with pytest.raises(ParameterError, match="no schema"):
        declared(tmp_path, text)


def test_the_unit_may_stand_in_the_schema_once(tmp_path):
    assert declared(tmp_path, 'unit = "person"').unit == "person"
    path = tmp_path / "v.schema.toml"
    with pytest.raises(ParameterError, match="is not the schema's unit"):
        read_schema(path, unit="household")


def test_a_table_with_a_schema_is_published(world):
    lines = [f"{i % 40},place {i % 23},{i % 24}" for i in range(400)]
    (world.folder / "v.csv").write_text("\n".join(["person,place,hour", *lines, "9,place 1,x"]))
    (world.folder / "k.csv").write_text("place\n" + "".join(f"place {i}\n" for i in range(23)))
    (world.folder / "s.toml").write_text('unit = "person"\n[columns.hour]\ntype = "integer"\n')
    done = world.run(
        "publish", "v.csv", "--schema", "s.toml", "--by", "place", "--policy", "presence",
        "--max-groups", "3", "--keys", "k.csv", "--epsilon", "1", "--where", "hour >= 5",
        "--out", "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "each person" in done.stdout
    assert "1 texts of 'hour' are not of their declared form" in done.stderr
