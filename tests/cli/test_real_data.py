"""The job on real visits, where the data sets are at hand."""

import os
import re
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

DATA = Path(
    os.environ.get("ONESIDED_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")
)
CHECKINS = DATA / "checkins"


def real(name):
    path = CHECKINS / name
    if not path.exists():
        pytest.skip("skipped: data not found")
    return path


def words(data, unit, by, where):
    return [
        "publish", data, "--unit", unit, "--by", by, "--policy", "presence", "--max-groups", "3",
        "--keys", "keys.parquet", "--epsilon", "1", "--at-most", "5", "--where", where,
        "--out", "out", "--ledger", "ledger.db",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "where",
    [
        "local_time >= TIMESTAMP '2012-04-14' AND local_time < TIMESTAMP '2012-04-15'",
        "EXTRACT(DAY FROM local_time) = 14 AND EXTRACT(HOUR FROM local_time) = 20",
    ],
    ids=["day", "hour"],
)
def test_new_york_check_ins_by_place(world, where):
    data = real("foursquare_nyc_filtered.parquet")
    # The list of venues is public; who was there is not.
    duckdb.sql(
        f"select place, any_value(lat) as latitude, any_value(lon) as longitude "
        f"from '{data}' group by place order by place"
    ).write_parquet(str(world.folder / "keys.parquet"))
    done = world.run(*words(data, "user", "place", where))
    assert done.returncode == 0, done.stderr
    wrong = duckdb.sql(
        f"select count(*) from '{world.folder}/out/release.parquet' r left join (select place, "
        f"count(distinct \"user\") as people from '{data}' where {where} group by place) t "
        "using (place) where r.upper < coalesce(t.people, 0)"
    ).fetchall()
    assert wrong == [(0,)]


def test_tokyo_traces_by_region(world):
    data = real("peopleflow_tokyo_traces.parquet")
    duckdb.sql(
        f"select region, any_value(lat) as latitude, any_value(lon) as longitude "
        f"from '{data}' group by region"
    ).write_parquet(str(world.folder / "keys.parquet"))
    done = world.run(*words(data, "user", "region", "split = 'test' and slot = 20"))
    assert done.returncode == 0, done.stderr
    page = (world.folder / "out" / "report.html").read_text(encoding="utf-8")
    rows = pq.read_table(world.folder / "out" / "release.parquet")
    assert f"of {rows.num_rows} groups are certified" in page
    shown = re.findall(r"<tr><td[^>]*>(\d+)</td><td[^>]*>(certified|unknown)</td>", page)
    assert shown == [(str(row["region"]), row["at_most_5"]) for row in rows.to_pylist()]
