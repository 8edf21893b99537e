"""The command that follows a folder: outputs, resuming, stopping, and what it refuses."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from tests.command import called

from onesided.cli import _monitor as command
from onesided.errors import DataError
from onesided.monitor._batch import column_of
from onesided.monitor.kit import read_window, times_of
from onesided.schema import Schema

WORDS = [
    "monitor", "--input", "in", "--keys", "places.parquet", "--policy", "presence",
    "--max-groups", "1", "--epsilon", "1000", "--at-most", "2", "--window", "3h",
    "--state", "state.db", "--out", "public",
]  # fmt: skip


@dataclass
class Stream:
    """A folder with places, and batches that are added by the hour."""

    folder: Path

    def put(self, name, rows):
        """One batch; rows are (person, place, time)."""
        lines = ["person,place,time", *(",".join(map(str, row)) for row in rows)]
        draft = self.folder / f".{name}"
        if name.endswith(".csv"):
            draft.write_text("\n".join(lines) + "\n")
        else:
            csv = self.folder / ".rows.csv"
            csv.write_text("\n".join(lines) + "\n")
            with duckdb.connect() as connection:
                query = f"select * from read_csv('{csv}', header=true, all_varchar=true)"
                connection.sql(query).write_parquet(str(draft))
        draft.rename(self.folder / "in" / name)

    def hour(self, hour, people=0, suffix="parquet"):
        """A batch of that hour with that many people at place 0."""
        rows = [(f"p{i}", "place 0", f"2026-01-01T{hour:02}:30:00") for i in range(people)]
        self.put(f"v-2026-01-01T{hour:02}.{suffix}", rows)

    def command(self, *more):
        return [sys.executable, "-m", "onesided", *WORDS, *more]

    def run(self, *more):
        env = {**os.environ, "COLUMNS": "300", "HOME": str(self.folder)}
        return called([*WORDS, *more], cwd=self.folder, env=env)

    def once(self, *more):
        return self.run("--once", *more)

    @property
    def status(self):
        return json.loads((self.folder / "public" / "status.json").read_text())

    @property
    def first(self):
        return self.status["places"][0]


@pytest.fixture
def stream(tmp_path):
    (tmp_path / "in").mkdir()
    with duckdb.connect() as connection:
        connection.sql(
            "select 'place ' || i as place, 35 + i / 100 as latitude, 139 + i / 50 as longitude "
            "from range(12) t(i)"
        ).write_parquet(str(tmp_path / "places.parquet"))
    return Stream(tmp_path)


def test_a_folder_becomes_statuses_a_map_and_a_page(stream):
    stream.hour(7, people=3)
    stream.hour(8, suffix="csv")
    done = stream.once()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Ledger ")
    assert "(new): 0 left on " in done.stdout
    assert "Step 2" in done.stdout
    assert "unbounded" in done.stdout
    status = stream.status
    assert (status["step"], status["time"]) == (2, "2026-01-01T09:00:00Z")
    assert status["counts"] == {"certified": 11, "unknown": 0, "resting": 1}
    assert stream.first == {"place": "place 0", "status": "resting", "at_most": None}
    shapes = json.loads((stream.folder / "public" / "status.geojson").read_text())
    assert len(shapes["features"]) == 12
    assert shapes["features"][0]["geometry"]["coordinates"] == [139.0, 35.0]
    assert shapes["features"][0]["properties"]["status"] == "resting"
    page = (stream.folder / "public" / "index.html").read_text()
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=", page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["state"]["runs"] == "1r11c"
    first = json.loads((stream.folder / "public" / "steps" / "1.json").read_text())
    assert (first["runs"], first["values"]) == ("1u11c", [[0, 3]])
    assert not list((stream.folder / "public").glob(".*.tmp"))


def test_what_was_published_is_published_again_unchanged(stream):
    stream.hour(7, people=3)
    assert stream.once().returncode == 0
    before = stream.status
    shutil.rmtree(stream.folder / "public")
    (stream.folder / "public").mkdir()
    (stream.folder / "public" / ".status.json.abc.tmp").write_text("of a killed process")
    again = stream.once()
    assert not list((stream.folder / "public").glob(".*.tmp"))
    assert again.returncode == 0, again.stderr
    assert "(it was there): 0 left on " in again.stdout
    assert "Resumed after step 1" in again.stdout
    assert stream.status == before
    stream.hour(8)
    assert stream.once().returncode == 0
    assert (stream.status["step"], stream.first["status"]) == (2, "resting")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_and_goes_on(stream, number):
    stream.hour(7, people=3)
    process = subprocess.Popen(
        stream.command("--every", "1s"),
        cwd=stream.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for((stream.folder / "public" / "status.json").exists, process)
    stream.hour(8, people=9)
    wait_for(lambda: stream.status["step"] == 2, process)
    process.send_signal(number)
    _, told = process.communicate(timeout=300)  # only against hanging
    assert process.returncode == 128 + number
    assert "Stopped after step 2" in told
    stream.hour(10)  # at 11:00 the batch of 08:00 has expired: the rest is over
    assert stream.once().returncode == 0
    assert stream.first == {"place": "place 0", "status": "unknown", "at_most": 9}


def wait_for(ready, process, seconds=600):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if ready():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    pytest.fail("it took too long")


def test_a_changed_file_and_a_damaged_one_are_named_and_left_out(stream):
    stream.hour(7, people=3)
    assert stream.once().returncode == 0
    time.sleep(0.05)
    stream.hour(7, people=4)
    whole = stream.folder / "in" / "v-2026-01-01T07.parquet"
    (stream.folder / "in" / "v-2026-01-01T08.parquet").write_bytes(whole.read_bytes()[:100])
    stream.hour(9)
    done = stream.once()
    assert done.returncode == 2
    assert "accepted before" in done.stderr
    assert "T08.parquet" in done.stderr
    assert "Traceback" not in done.stderr
    assert stream.status["batch"] == "v-2026-01-01T09.parquet"


def test_a_batch_needs_a_time_that_no_single_visit_sets(stream):
    rows = [("x", "place 0", "2026-01-01T07:10:00"), ("y", "place 0", "2026-01-01T07:20:00")]
    stream.put("first.csv", rows)
    refused = stream.once()
    assert refused.returncode == 2
    assert "different times" in refused.stderr
    assert "--batch-time" in refused.stderr
    assert not (stream.folder / "public" / "status.json").exists()
    assert stream.once("--batch-time", "latest").returncode == 0
    assert stream.status["time"] == "2026-01-01T07:20:00Z"
    assert "public knowledge" in (stream.folder / "public" / "index.html").read_text()
    stream.put("second.csv", [(p, q, "2026-01-01T08:00:00") for p, q, _ in rows])
    assert stream.once().returncode in (0, 2)
    assert stream.status["time"] == "2026-01-01T08:00:00Z"


def test_whole_numbers_as_times(stream):
    for number in (1, 2):
        stream.put(f"b{number}.csv", [("x", "place 0", number)])
    done = stream.run("--once", "--window", "3")
    assert done.returncode == 0, done.stderr
    assert stream.status["time"] == "2"


@pytest.mark.parametrize(
    ("words", "code", "names"),
    [
        (["--at-most", "-1"], 2, "at_most"),
        (["--epsilon", "nan"], 2, "epsilon"),
        (["--window", "soon"], 2, "window"),
        (["--every", "0s"], 2, "every"),
        (["--input", "nowhere"], 2, "nowhere"),
        (["--keys", "nokeys.parquet"], 2, "nokeys"),
        (["--place", "spot"], 2, "spot"),
        (["--policy", "bounded"], 2, "bounded"),
        (["--budget", "1"], 3, "asked"),
        (["--time", "when"], 2, "when"),
    ],
    ids=str,
)
def test_bad_input_is_one_sentence_and_writes_nothing(stream, monkeypatch, words, code, names):
    from typer.testing import CliRunner

    from onesided.cli._app import app
    from onesided.cli._exits import exit_code

    stream.hour(7, people=1)
    monkeypatch.chdir(stream.folder)
    done = CliRunner().invoke(app, [*WORDS, "--once", *words])
    if isinstance(done.exception, SystemExit):  # files are refused one by one, and named
        assert (done.exit_code, names in done.stderr) == (code, True)
    else:
        assert exit_code(done.exception) == code
        assert names in str(done.exception)
        assert done.exception.hint
    assert not (stream.folder / "public" / "status.json").exists()


def test_other_rules_on_the_same_state_are_refused(stream):
    stream.hour(7)
    assert stream.once().returncode == 0
    done = stream.once("--at-most", "7")
    assert done.returncode == 4
    assert "threshold 2 (asked: 7)" in done.stderr


def test_an_output_that_cannot_be_written_loses_nothing(stream):
    stream.hour(7, people=3)
    (stream.folder / "public").write_text("a file")
    done = stream.once()
    assert done.returncode == 5
    (stream.folder / "public").unlink()
    assert stream.once().returncode == 0
    assert stream.first["status"] == "unknown"


@pytest.mark.heavy
def test_killed_while_it_follows_every_status_ever_seen_is_in_the_history(stream, long_form):
    """kill -9 of the command itself; a reader of status.json never sees two answers of one step."""
    kills, seen = (20 if long_form else 2), {}
    for round_ in range(kills + 1):
        stream.hour(round_ % 24, people=round_)
        process = subprocess.Popen(
            stream.command("--every", "1s", *(["--once"] if round_ == kills else [])),
            cwd=stream.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + 1.0 + 0.4 * (round_ % 7)
        while process.poll() is None and (round_ == kills or time.monotonic() < until):
            if (stream.folder / "public" / "status.json").exists():
                status = stream.status  # whole, or this fails
                assert seen.setdefault(status["step"], status) == status
            time.sleep(0.02)
        process.kill()
        process.wait()
    assert stream.status["step"] == kills + 1
    assert seen.setdefault(kills + 1, stream.status) == stream.status


@pytest.mark.parametrize("batch_time", ["auto", "column", "latest"])
def test_columns_are_the_same_with_arrow_and_without(tmp_path, monkeypatch, batch_time):
    """Text, nulls, zones and moments of every unit: the same values, or the same refusal."""
    rows = "select 5 as person, 'a' as place, {} as time from range(2)"
    times = ["timestamp '2026-01-05 07:30'", "timestamptz '2026-01-05 07:30+09'", "null::timestamp"]
    times += ["'2026-01-05T07:30'", "'2026-01-05T07:30+09:00'", "date '2026-01-05'", "'noon'", "7"]
    times += ["timestamp_ns '2026-01-05 07:30'", "timestamp_s '2026-01-05 07:30'"]
    scale = read_window("1h")[0]
    job = command.Job(
        input=tmp_path,
        out=tmp_path,
        state="",
        window="1h",
        epsilon="1",
        at_most=5,
        time="time",
        batch_time=batch_time,
    )
    layout = command.Layout(job, Schema(), scale)
    for at, time_ in enumerate(times):
        path = tmp_path / f"{at}.parquet"
        with duckdb.connect() as connection:
            connection.sql(rows.format(time_)).write_parquet(str(path))
        told = []
        for spec in (command.find_spec, lambda _: None):
            monkeypatch.setattr(command, "find_spec", spec)
            try:
                moment, columns, _ = layout.read(command.BatchFile(path, (0, 0)))
            except DataError as error:
                told.append(error.reason)
                continue
            ticks = times_of(column_of(columns["time"]), scale, "time").tolist()
            persons = column_of(columns["person"])
            values = persons if isinstance(persons, list) else persons.to_list()
            told.append((scale.ticks(moment, name="time"), ticks, values))
        assert told[0] == told[1]
        assert isinstance(told[0], str) == (at in {2, 6, 7})
        if not isinstance(told[0], str):
            assert told[0][2] == ["5", "5"]


@pytest.mark.parametrize(
    ("person", "place", "named"),
    [
        ("1.0::DOUBLE", "'place 0'", "person"),
        ("'p1'", "7.0::DOUBLE", "place"),
        ("1::DECIMAL(3, 1)", "'place 0'", "person"),
        ("'p1'::BLOB", "'place 0'", "person"),
    ],
)
def test_people_and_places_of_which_one_has_several_texts(stream, person, place, named):
    """Left out as an unknown place, or told for two people, they would be certified away."""
    path = stream.folder / "in" / "v-2026-01-01T01.parquet"
    with duckdb.connect() as connection:
        connection.sql(f"SELECT {person} AS person, {place} AS place").write_parquet(str(path))
    done = stream.once("--unknown-places", "ignore")
    assert done.returncode == 2
    assert f"Column '{named}' of v-2026-01-01T01.parquet holds" in done.stderr
    keys = stream.folder / "places.parquet"
    with duckdb.connect() as connection:
        connection.sql("SELECT 7.5::DOUBLE AS place").write_parquet(str(keys))
    done = stream.once("--state", "new.db")
    assert done.returncode == 2
    assert "Column 'place' of places.parquet holds DOUBLE" in done.stderr


def test_whole_numbers_as_times_are_not_rounded(stream):
    stream.put("a-3.csv", [("p1", "place 0", "2.5")])
    stream.put("b-3.parquet", [("p1", "place 0", "x")])
    stream.put("c-3.csv", [("p1", "place 0", "-2")])
    with duckdb.connect() as connection:
        path = str(stream.folder / "in" / "d-3.parquet")
        rows = connection.sql("SELECT 'p1' AS person, 'place 0' AS place, 2.5::DOUBLE AS time")
        rows.write_parquet(path)
    done = stream.once("--window", "9", "--batch-time", "name")
    assert done.returncode == 2
    assert [name for name in "abcd" if f"Not taken in: {name}-3" in done.stderr] == ["a", "b", "d"]


ALARMS = ["--policy", "sensitive_presence", "--sensitive", "NOT agreed", "--at-least", "4"]


def batch(folder, name, rows, header="person,place,agreed"):
    (folder / "in" / name).write_text("\n".join([header, *rows]) + "\n")


def test_safe_places_and_alarms(stream):
    (stream.folder / "s.toml").write_text(
        'columns = { agreed = { type = "boolean", unreadable = "missing" } }\n'
    )
    told = [f"p{n},place 0,true" for n in range(5)]
    hidden = [f"p{n},place 1,{said}" for n, said in enumerate(("false", "", "perhaps", "true"))]
    batch(stream.folder, "v-2026-01-01T07.csv", told + hidden)
    done = stream.once("--schema", "s.toml", *ALARMS)
    assert done.returncode == 0, done.stderr
    assert "1 text is not of the declared form of 'agreed' (taken as unknown)" in done.stderr
    assert stream.status["alarm"] == 4
    assert [one["status"] for one in stream.status["places"][:3]] == ["alarm", "unknown", "safe"]
    assert [one["open_at_least"] for one in stream.status["places"][:2]] == [4, 1]


@pytest.mark.parametrize(
    ("schema", "more", "said"),
    [
        ("", [], "holds VARCHAR; who is sensitive follows from columns of true and false"),
        ('columns = { agreed = { type = "boolean" } }\n', [], "could refuse a whole batch"),
        ("", ["--person", "agreed"], "which says where, when or whose a visit is"),
        ("", ["--policy", "presence"], "has no meaning for the policy 'presence'"),
    ],
)
def test_who_is_open_is_read_from_a_declared_column(stream, schema, more, said):
    (stream.folder / "s.toml").write_text(schema)
    batch(stream.folder, "v-2026-01-01T07.csv", ["p1,place 0,true"])
    done = stream.once("--schema", "s.toml", *ALARMS, *more)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
