"""Following a stream: batches one at a time, answers once, refusals that lose nothing."""

import json
import os
import shutil
import threading

import numpy as np
import pytest

from onesided import Monitor, policy
from onesided.errors import (
    DataError,
    KeysError,
    LedgerFormatError,
    OutputError,
    ParameterError,
    PolicyMismatchError,
    UnknownColumnError,
)

pytestmark = pytest.mark.xdist_group("spark")
KEY = bytes(range(32))
RULES = {"at_most": 3, "window": 3, "epsilon": 2, "policy": policy.presence(max_groups=2)}
PLACES = list(range(40))


@pytest.fixture
def known_key(monkeypatch):
    from onesided.monitor import _monitor

    monkeypatch.setattr(_monitor, "new_key", lambda: KEY)


def batch(number):
    """The same rows for the same number."""
    dice = np.random.default_rng(number)
    size = int(dice.poisson(60)) * (number % 4 != 3)
    return {"person": dice.integers(0, 90, size), "place": dice.zipf(1.7, size) % 40}


def drop(folder, number, rows=None):
    """A file appears as a whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draft = folder / f".visits-{number}"
    pq.write_table(pa.table(batch(number) if rows is None else rows), draft)
    draft.rename(folder / f"visits-{number}.parquet")


def here(numbers, **given):
    """One machine's answers."""
    with Monitor(PLACES, **(RULES | given)) as monitor:
        for number in numbers:
            monitor.step(batch(number), id=f"visits-{number}.parquet", time=number)
        return [facts(release) for release in monitor.history()]


def kept(folder):
    """The batches whose rows are kept."""
    return [path for path in (folder / "state.rows").iterdir() if len(path.name) == 32]


def facts(release):
    return release.head, release.status, release.values.tolist()


@pytest.fixture
def follow(spark, tmp_path, known_key):
    """Open the same monitor again and again."""
    import onesided as od

    opened = []

    (tmp_path / "in").mkdir()

    def opened_again(source=None, **given):
        source = source or od.spark.files(spark, str(tmp_path / "in"))
        options = {"state": tmp_path / "state.db", "sink": tmp_path / "out"} | RULES | given
        opened.append(od.spark.monitor(source, PLACES, spark=spark, **options))
        return opened[-1]

    yield opened_again
    for one in opened:
        one.close()


def test_files_are_answered_as_on_one_machine_and_published_once(follow, spark, tmp_path):
    for number in (2, 1, 3):  # read at once, taken in the order of their times
        drop(tmp_path / "in", number)
    (tmp_path / "out" / "_draft-1" / "_temporary").mkdir(parents=True)  # a dead driver's
    with follow() as monitor:
        assert monitor.run(tmp_path / "check") == 3
    first = {path.name for path in (tmp_path / "out" / "step=00000001").glob("[!.]*")}
    assert first == {"_step.json", "part-0.parquet"}
    for number in (4, 5):
        drop(tmp_path / "in", number)
    with follow() as monitor:
        assert monitor.run(tmp_path / "check") == 5
        history = list(monitor.monitor.history())
        assert [facts(release) for release in history] == here(range(1, 6))
        assert monitor.monitor.ledger.check().charges == 1
    out = spark.read.parquet(str(tmp_path / "out")).toArrow().to_pylist()
    assert len(out) == 5 * len(PLACES)
    told = {(row["step"], row["place"]): (row["status"], row["at_most"] or 0) for row in out}
    for release in history:
        for place, status, value in zip(PLACES, release.status, release.values, strict=True):
            expected = RULES["at_most"] if status == "certified" else value
            assert told[release.number, place] == (status, expected)
    # Only what is in the window is kept, and nobody else may look.
    assert len(kept(tmp_path)) <= 3
    assert (tmp_path / "state.rows").stat().st_mode & 0o77 == 0
    # A new checkpoint sends everything again: told again.
    with follow() as monitor:
        assert monitor.run(tmp_path / "new") == 5


def test_a_checkpoint_of_another_monitor_or_ahead_of_the_state(follow, tmp_path):
    drop(tmp_path / "in", 1)
    with follow() as monitor:
        monitor.run(tmp_path / "check")
    for name in ("state.db", "state.ledger.db"):
        shutil.copy(tmp_path / name, tmp_path / f"old-{name}")
    shutil.copytree(tmp_path / "state.rows", tmp_path / "old.rows")
    with follow(state=tmp_path / "other.db", sink=None) as other:
        with pytest.raises(PolicyMismatchError, match="another monitor"):
            other.run(tmp_path / "check")
        (tmp_path / "foreign" / "offsets").mkdir(parents=True)
        with pytest.raises(PolicyMismatchError, match="another query"):
            other.run(tmp_path / "foreign")
        assert other.monitor.last is None
    with follow(state=tmp_path / "third.db", at_most=4) as third:
        with pytest.raises(DataError, match="published with another answer"):
            third.run(tmp_path / "check 3")
        assert third.monitor.last is None
    drop(tmp_path / "in", 2)
    with follow() as monitor:
        monitor.run(tmp_path / "check")
        before = [facts(release) for release in monitor.monitor.history()]
    for name in ("state.db", "state.ledger.db"):
        shutil.copy(tmp_path / f"old-{name}", tmp_path / name)
    shutil.rmtree(tmp_path / "state.rows")
    shutil.copytree(tmp_path / "old.rows", tmp_path / "state.rows")
    with follow() as monitor:
        with pytest.raises(LedgerFormatError, match="ahead"):
            monitor.run(tmp_path / "check")
        assert monitor.monitor.awaited == ("visits-2.parquet",)
        monitor.run(tmp_path / "third")
        assert [facts(release) for release in monitor.monitor.history()] == before


def test_what_is_refused_stops_the_stream_and_changes_nothing(follow, tmp_path):
    drop(tmp_path / "in", 8)
    with follow() as monitor:
        monitor.run(tmp_path / "check")
        drop(tmp_path / "in", 9, {"person": ["Ann"], "place": [1]})
        for _ in range(2):
            with pytest.raises(DataError, match="persons by str"):
                monitor.run(tmp_path / "check")
        drop(tmp_path / "in", 9, {"who": [1], "place": [1]})
        with pytest.raises(UnknownColumnError, match="person"):
            monitor.run(tmp_path / "check")
        drop(tmp_path / "in", 9, {"person": [1], "place": ["1"]})
        with pytest.raises(DataError, match="type"):
            monitor.run(tmp_path / "check")
        (tmp_path / "in" / "visits-9.parquet").write_bytes(b"PAR1 cut off")
        with pytest.raises(DataError, match=r"visits-9\.parquet"):
            monitor.run(tmp_path / "check")
        assert monitor.monitor.last.number == 1
        assert len(kept(tmp_path)) == 1
        drop(tmp_path / "in", 9)
        assert monitor.run(tmp_path / "check") == 2
        drop(tmp_path / "in", 5)  # time runs backwards, further than the window
        with pytest.raises(DataError, match="too late"):
            monitor.run(tmp_path / "check")
        (tmp_path / "in" / "visits-5.parquet").unlink()
        drop(tmp_path / "in", 7)  # late, and still in the window
        drop(tmp_path / "in", 10)
        assert monitor.run(tmp_path / "new") == 4


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ({"person": [1, None], "place": [1, 2]}, "without a person"),
        ({"person": [1, 2], "place": [1, None]}, "without a place"),
        ({"person": [1, 2], "place": [1, 99]}, "none of the 40 places"),
        ({"person": [1], "place": [1], "time": [9]}, "later"),
        ({"person": [1.5], "place": [1]}, "double"),
        ({"person": [1], "place": [1], "time": ["noon"]}, "string"),
    ],
    ids=str,
)
def test_rows_that_cannot_be_counted(follow, spark, tmp_path, rows, names):
    monitor = follow().monitor
    table = list(zip(*rows.values(), strict=True))
    with pytest.raises(DataError, match=names) as caught:
        monitor.step(spark.createDataFrame(table, list(rows)), id="1", time=5)
    assert caught.value.hint
    assert monitor.last is None
    assert kept(tmp_path) == []


def test_a_manifest_announces_empty_batches_and_a_watermark_changes_nothing(
    follow, spark, tmp_path
):
    import onesided as od

    for number in (1, 2, 3):
        drop(tmp_path / "in", number)
    manifest = tmp_path / "manifest"
    manifest.mkdir()
    lines = [
        f'{{"batch": "visits-{n}.parquet", "time": {n}, "path": "{tmp_path}/in/visits-{n}.parquet",'
        f' "at": "2026-01-0{n}T00:00:00Z"}}\n'
        for n in (1, 2, 3)
    ]
    (manifest / "one.json").write_text("".join(lines[:2] + lines[:1]))  # one of them twice
    schema = "batch string, time bigint, path string, at timestamp"
    stream = spark.readStream.schema(schema).json(str(manifest)).withWatermark("at", "1 hour")
    with follow(od.spark.manifest(stream)) as monitor:
        assert monitor.run(tmp_path / "check") == 2
        (manifest / "two.json").write_text(lines[2])
        assert monitor.run(tmp_path / "check") == 3
        history = [facts(release) for release in monitor.monitor.history()]
    assert history == here((1, 2, 3))
    kafka = (
        spark.readStream.format("rate")
        .load()
        .selectExpr(
            "cast('{}' as binary) value",
            "'visits' topic",
            "0 partition",
            "value offset",
            "timestamp",
        )
    )
    with pytest.raises(UnknownColumnError, match="announce"):
        follow(kafka)
    zoned = kafka.selectExpr("topic batch", "timestamp time", "topic path")
    with pytest.raises(DataError, match="zone of this machine"):
        od.spark.manifest(zoned)
    with pytest.raises(ParameterError, match="no stream"):
        follow(spark.range(3))
    with pytest.raises(ParameterError):
        follow(7)
    with pytest.raises(DataError, match="nowhere"):
        od.spark.files(spark, str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="no table of Spark"):
        follow().monitor.step(batch(1), id="x", time=1)


def test_a_name_without_a_time(follow, tmp_path):
    drop(tmp_path / "in", "monday", {"person": [1], "place": [1]})
    with follow() as monitor, pytest.raises(DataError, match="holds no time"):
        monitor.run(tmp_path / "check")


def test_names_are_names_and_however_old_a_file_is_it_counts(follow, tmp_path):
    everybody, nobody = {"person": list(range(9)), "place": [1] * 9}, {"person": [1], "place": [2]}
    drop(tmp_path / "in", "[1]-1", everybody)
    drop(tmp_path / "in", "1-1", nobody)
    drop(tmp_path / "in", "%31-1", everybody)
    drop(tmp_path / "in", "?-1", nobody)
    given = {"epsilon": 200, "charges": 9, "at_most": 1}
    with follow(**given) as monitor:
        assert monitor.run(tmp_path / "check") == 4
        drop(tmp_path / "in", "old-2", everybody)
        os.utime(tmp_path / "in" / "visits-old-2.parquet", (0, 0))
        assert monitor.run(tmp_path / "check") == 5
        told = {r.batch: r.values.tolist()[1:3] for r in monitor.monitor.history()}
    # In the order of the names: ? and [1] stand for nobody else's rows.
    assert [told[f"visits-{name}.parquet"] for name in ("%31-1", "1-1", "?-1", "[1]-1")] == [
        [9, 0],
        [9, 0],
        [9, 0],
        [9, 0],
    ]
    assert told["visits-old-2.parquet"] == [9, 0]


def test_an_id_is_accepted_once_in_one_piece_of_the_stream_too(follow, spark, tmp_path):
    import onesided as od

    (tmp_path / "manifest").mkdir()
    lines = [{"batch": "one", "time": 1, "n": n} for n in (1, 2)]
    (tmp_path / "manifest" / "a.json").write_text("\n".join(map(json.dumps, lines)))
    stream = spark.readStream.schema("batch string, time bigint, n int")

    def read(row):
        return spark.createDataFrame([(row.n, 1)], "person int, place int")

    told = od.spark.manifest(stream.json(str(tmp_path / "manifest")), read)
    with follow(told) as monitor, pytest.raises(DataError, match="accepted before"):
        monitor.run(tmp_path / "check")
    nobody = '{"time": 2, "n": 1}\n{"batch": "two", "time": 2, "n": 1}'
    (tmp_path / "manifest" / "a.json").write_text(nobody)
    with follow(told) as monitor, pytest.raises(ParameterError, match="id of a batch"):
        monitor.run(tmp_path / "new")


def test_no_setting_makes_a_batch_of_a_file_that_cannot_be_read(follow, spark, tmp_path):
    settings = [f"spark.sql.files.ignore{what}Files" for what in ("Corrupt", "Missing")]
    drop(tmp_path / "in", 1)
    with follow() as monitor:
        monitor.run(tmp_path / "check")
        for name in settings:
            spark.conf.set(name, "true")
        try:
            drop(tmp_path / "in", 2)
            (rows,) = kept(tmp_path)
            part = next(rows.glob("part-*"))
            whole = part.read_bytes()
            for path in rows.glob(".part-*"):
                path.unlink()
            part.write_bytes(b"PAR1 damaged")
            with pytest.raises(DataError, match="could not read"):
                monitor.run(tmp_path / "check")
            part.write_bytes(whole)
            (tmp_path / "in" / "visits-2.parquet").write_bytes(b"PAR1 damaged")
            with pytest.raises(DataError, match="could not read"):
                monitor.run(tmp_path / "check")
        finally:
            for name in settings:
                spark.conf.unset(name)
        assert monitor.monitor.last.number == 1


def test_bytes_that_are_no_text_are_nobody(follow, spark, tmp_path):
    import onesided as od

    (tmp_path / "in" / "visits-1.csv").write_bytes(b"\xff,1\n\xfe,1\n")
    source = od.spark.files(
        spark,
        str(tmp_path / "in"),
        format="csv",
        pattern="*.csv",
        schema="person string, place int",
    )
    with follow(source) as monitor, pytest.raises(DataError, match="without a person"):
        monitor.run(tmp_path / "check")


def told(spark, numbers):
    """Batches that are announced whenever they are asked for, as by a queue."""
    import onesided as od

    def read(one):
        rows = batch(int(one.id))
        people = zip(*(values.tolist() for values in rows.values()), strict=True)
        return spark.createDataFrame(list(people), "person long, place long")

    def announced(*_):
        return [od.spark.Announced(str(number), number) for number in numbers]

    return od.spark.Source(None, announced, read)


def test_what_a_sink_refused_is_published_before_all_else(follow, spark, tmp_path, monkeypatch):
    numbers = [1]
    with follow(told(spark, numbers)) as monitor:
        monitor.run()
        with monkeypatch.context() as patch:
            patch.setattr(type(monitor._sink), "write", _down)
            numbers.append(2)
            with pytest.raises(OutputError):
                monitor.run()
        numbers.append(4)
        assert monitor.run() == 3
    assert len(list((tmp_path / "out").glob("step=*"))) == 3
    (tmp_path / "file").write_text("")
    for wrong in ({"sink": tmp_path / "file" / "out"}, {"rows": tmp_path / "file" / "rows"}):
        with pytest.raises(OutputError, match="file"):
            follow(told(spark, numbers), **wrong)
    # Another monitor is further on than what is published.
    options = {"state": tmp_path / "other.db"}
    with follow(told(spark, [5, 6, 8, 9]), sink=None, **options) as other:
        other.run()
    with pytest.raises(LedgerFormatError, match="another monitor"):
        follow(told(spark, []), **options)


def _down(*_):
    raise OutputError("down", hint="Wait.")


def test_drivers_that_publish_at_once_publish_each_step_once(follow, spark, tmp_path):
    from onesided.spark._sinks import ParquetSink

    with follow(told(spark, [1, 2]), sink=None) as monitor:
        monitor.run()
        releases = list(monitor.monitor.history())

    def write():
        sink = ParquetSink(spark, str(tmp_path / "out"))
        for release in releases:
            sink.write(release)

    drivers = [threading.Thread(target=write) for _ in range(3)]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
    ParquetSink(spark, str(tmp_path / "out")).write(releases[-1])
    assert spark.read.parquet(str(tmp_path / "out")).count() == 2 * len(PLACES)


def test_what_spark_cannot_follow_is_said_in_our_words(follow, tmp_path):
    drop(tmp_path / "in", 1)
    with follow() as monitor:
        assert monitor.run(tmp_path / "check") == 1
        (tmp_path / "check" / "offsets" / "0").write_text("damaged")
        (tmp_path / "check" / "offsets" / ".0.crc").unlink()
        with pytest.raises(DataError, match="could not follow"):
            monitor.run(tmp_path / "check")
        assert monitor.run(tmp_path / "new") == 1


def test_a_folder_of_rows_is_for_one_monitor_alone(follow, tmp_path):
    with follow():
        pass
    with pytest.raises(PolicyMismatchError, match="another monitor"):
        follow(state=tmp_path / "other.db", sink=None, rows=tmp_path / "state.rows")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("")
    with pytest.raises(PolicyMismatchError, match="which no monitor wrote"):
        follow(state=tmp_path / "third.db", sink=None, rows=tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()


@pytest.mark.parametrize("places", [[1.5], ["a\0"], ["\ud800"], [2**64]], ids=ascii)
def test_places_that_spark_cannot_hold_cost_nothing(spark, tmp_path, places):
    import onesided as od

    ledger = tmp_path / "ledger.db"
    with pytest.raises((KeysError, ParameterError)):
        od.spark.monitor(
            told(spark, []), places, spark=spark, rows=tmp_path, ledger=ledger, **RULES
        )
    assert not ledger.exists()


def test_a_file_without_a_byte_is_a_batch_without_rows(follow, spark, tmp_path):
    """Spark tells of no such file; a schedule without it would tell that nobody was there."""
    import onesided as od

    folder = tmp_path / "in"
    rows = {"visits-1.csv": "1,1\n", "visits-2.csv": "", "visits-4.csv": "", ".visits-3.csv": ""}
    for name, text in rows.items():
        (folder / name).write_text(text)
    options = {"pattern": "*.csv", "schema": "person int, place int"}
    source = od.spark.files(spark, str(folder), format="csv", **options)
    with follow(source) as monitor:
        assert monitor.run(tmp_path / "check") == 3
        (folder / "visits-5.csv").write_text("")
        assert monitor.run(tmp_path / "check") == 4
        assert monitor.run(tmp_path / "new") == 4
        times = [release.time for release in monitor.monitor.history()]
        assert times == ["1", "2", "4", "5"]
    drop(folder, 6)
    (folder / "visits-6.parquet").write_bytes(b"")
    with follow() as monitor, pytest.raises(DataError, match="could not read"):
        monitor.run(tmp_path / "other")


def test_half_a_letter_in_json_is_refused_and_a_whole_one_is_read(follow, spark, tmp_path):
    """Spark reads both halves as "?": two people would be one."""
    import onesided as od

    folder = tmp_path / "in"
    (folder / "visits-1.json").write_text(r'{"person": "\ud83d\ude00", "place": 1}')
    options = {"pattern": "*.json", "schema": "person string, place int"}
    source = od.spark.files(spark, str(folder), format="json", **options)
    with follow(source) as monitor:
        assert monitor.run(tmp_path / "check") == 1
        for half in (r"\ud800", r"\uDC01", r"\ud800 \udc00"):
            (folder / "visits-2.json").write_text(f'{{"person": "{half}", "place": 1}}')
            with pytest.raises(DataError, match="half a letter"):
                monitor.run(tmp_path / "check")


def test_moments_without_a_zone_are_of_utc_in_text_too(follow, spark, tmp_path):
    """The session of the tests is in Tokyo: all would have expired nine hours ago."""
    import onesided as od

    lines = [f"{person},1,2026-01-05T07:0{person}:00\n" for person in range(6)]
    (tmp_path / "in" / "visits-2026-01-05T07.csv").write_text("".join(lines))
    schema = "person int, place int, time timestamp"
    folder = str(tmp_path / "in")
    source = od.spark.files(spark, folder, format="csv", pattern="*.csv", schema=schema)
    with follow(source, window="2h", epsilon=200) as monitor:
        monitor.run(tmp_path / "check")
        assert monitor.monitor.last.values[1] == 6


def test_a_restored_state_takes_late_batches_in_the_order_they_were_published(follow, tmp_path):
    folder = tmp_path / "in"
    drop(folder, 1)
    with follow() as monitor:
        monitor.run(tmp_path / "check")
    for name in ("state.db", "state.ledger.db"):
        shutil.copy(tmp_path / name, tmp_path / f"old-{name}")
    shutil.copytree(tmp_path / "state.rows", tmp_path / "old.rows")
    for number in (3, 2, 4):  # 2 comes late
        drop(folder, number)
        with follow() as monitor:
            monitor.run(tmp_path / "check")
            before = [facts(release) for release in monitor.monitor.history()]
    for name in ("state.db", "state.ledger.db"):
        shutil.copy(tmp_path / f"old-{name}", tmp_path / name)
    shutil.rmtree(tmp_path / "state.rows")
    shutil.copytree(tmp_path / "old.rows", tmp_path / "state.rows")
    with follow() as monitor:
        assert monitor.run(tmp_path / "new") == 4
        assert [facts(release) for release in monitor.monitor.history()] == before
