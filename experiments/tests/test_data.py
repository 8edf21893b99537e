"""Reading what users supply: text of the FIMI repository, whole sets before parts, bad files."""

import duckdb
import numpy as np
import pytest

from onesided.errors import DataError
from onesided_experiments._clicks import find_clicks, read_clicks
from onesided_experiments._tables import query, write
from onesided_experiments._visits import SOURCES, by_day, by_hour, find_visits, last_seen


def test_text_is_read_and_an_item_counts_once_per_record(tmp_path):
    path = tmp_path / "kosarak.dat"
    path.write_text("1 2 3 \n2 2 3\n\n7\n")
    found = read_clicks(path)
    assert found.counts.tolist() == [1, 2, 2, 1]
    assert found.longest == 3


def test_a_whole_set_comes_before_its_part(tmp_path):
    (tmp_path / "clicks").mkdir()
    rows = "SELECT * FROM (VALUES (0, 1), (1, 1), (1, 2)) AS t(record, item)"
    part = tmp_path / "clicks" / "kosarak_first100k.parquet"
    duckdb.sql(rows).write_parquet(str(part))
    first, scaled = find_clicks(tmp_path)
    assert (first.label, first.group) == ("Kosarak (part)", "paper")
    assert scaled.read().counts.tolist() == [20, 10]
    (tmp_path / "kosarak.dat").write_text("1 2\n")
    (only,) = find_clicks(tmp_path)
    assert only.label == "Kosarak"
    assert only.path.name == "kosarak.dat"


def test_a_broken_file_is_named_as_such(tmp_path):
    path = tmp_path / "retail.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="could not be read"):
        read_clicks(path)


def test_tables_come_back_as_they_were(tmp_path):
    rows = [{"name": "a", "value": 1.5, "n": 1}, {"name": "b", "value": None, "n": 2}]
    csv, parquet = write(rows, tmp_path / "made")
    for path, reader in ((csv, "read_csv"), (parquet, "read_parquet")):
        back = query(f"SELECT * FROM {reader}(?)", str(path))
        assert list(back["n"]) == [1, 2]
        assert list(back["name"]) == ["a", "b"]
        assert np.isnan(float(np.ma.filled(back["value"].astype(float), np.nan)[1]))


def test_visits_are_people_not_rows(tmp_path):
    (source,) = [one for one in SOURCES if one.name == "Foursquare Tokyo"]
    duckdb.sql(
        "SELECT * FROM (VALUES (1, 0, 0, 5), (1, 0, 1, 5), (1, 0, 2, 6), (2, 0, 0, 6), "
        "(2, 1, 0, 5))"
        ' AS t("user", session, pos, place), (SELECT 35.0 AS lat, 139.0 AS lon)'
    ).write_parquet(str(tmp_path / source.file))
    (found,) = find_visits(tmp_path)
    day, hour, last = (read(*found) for read in (by_day, by_hour, last_seen))
    assert day.counts(0).tolist() == [1, 2]
    assert day.fall() == 2
    assert hour.counts(0).tolist() == [1, 1]
    assert hour.fall() == 1
    assert last.counts(0).tolist() == [1, 1]
    assert (last.people, last.times) == (2, 1)
