"""Files of keys: the same values whichever library reads them, and names that are no patterns."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from onesided.engine import _key_files, public_keys
from onesided.errors import DataError, KeysError, OnesidedError, UnknownColumnError

MOMENT = dt.datetime(2008, 2, 29, 7, 30, 15, 123456)  # noqa: DTZ001 - the column's own
COLUMNS = {
    "text": ["é", "007", "7"],
    "integer": [1, -(2**63), 2**63 - 1],
    "boolean": [True, False],
    "date": [dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "datetime": [MOMENT],
    "datetime with zone": [MOMENT.replace(tzinfo=dt.UTC)],
}


@pytest.fixture
def reader(request, monkeypatch):
    pytest.importorskip(request.param)
    only = {request.param: _key_files._READERS[request.param]}
    monkeypatch.setattr(_key_files, "_READERS", only)
    return request.param


@pytest.mark.parametrize("reader", _key_files._READERS, indirect=True)
@pytest.mark.parametrize("kind", COLUMNS)
def test_parquet_gives_the_same_keys_whoever_reads_it(reader, kind, tmp_path):
    for name in ("keys[1].parquet", "keys1.parquet", "a*b?.parquet"):
        values = COLUMNS[kind] if name != "keys1.parquet" else []
        pl.DataFrame({"x": values}, schema={"x": pl.Series(COLUMNS[kind]).dtype}).write_parquet(
            tmp_path / name
        )
    for name in ("keys[1].parquet", "a*b?.parquet"):
        found = _key_files.key_file(name, folder=tmp_path, name="x", kind=kind)
        assert public_keys({"x": found}, ("x",)).labels() == COLUMNS[kind], reader


def test_a_line_that_says_what_separates_columns_is_no_key(tmp_path):
    (tmp_path / "k.csv").write_text("sep=;\nx;name\n1;a\n2;b\n")
    assert _key_files.key_file("k.csv", folder=tmp_path, name="x", kind="integer") == [1, 2]


@pytest.mark.parametrize("reader", _key_files._READERS, indirect=True)
def test_what_is_no_file_of_keys_is_refused(reader, tmp_path, monkeypatch):
    def read(name="k.parquet"):
        return _key_files.key_file(name, folder=tmp_path, name="x", kind="integer")

    with pytest.raises(KeysError, match="There is no file of keys"):
        read()
    (tmp_path / "k.parquet").write_bytes(b"PAR1 or not")
    with pytest.raises(DataError):
        read()
    pl.DataFrame({"y": [1]}).write_parquet(tmp_path / "k.parquet")
    with pytest.raises(UnknownColumnError, match="no column 'x'"):
        read()
    monkeypatch.setattr(_key_files, "MOST_KEYS", 10)
    pl.DataFrame({"x": np.arange(11)}).write_parquet(tmp_path / "k.parquet")
    with pytest.raises(KeysError, match="11 rows"):
        read()


@pytest.mark.parametrize(
    "text", ["x\n" + "1\n" * 11, "x\n1\n" + "1" * 1000 + "\n", "x\n", "", "x\n\x00\n", 'x\n"1\n']
)
def test_a_hostile_csv_of_keys_is_refused(text, tmp_path, monkeypatch):
    monkeypatch.setattr(_key_files, "_MOST_LINES", 10)
    (tmp_path / "k.csv").write_text(text)
    with pytest.raises(OnesidedError):
        public_keys(
            {"x": _key_files.key_file("k.csv", folder=tmp_path, name="x", kind="integer")}, ("x",)
        )
