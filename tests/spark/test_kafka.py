"""The recipe for Kafka of docs/spark.md, over files that hold what Kafka's source would give.

There is no broker: the topics are files with the columns of Spark's source, binary keys and values
among them, and offsets are cut as that source cuts them. The code is that of the page.
"""

import json
import re
from pathlib import Path

import pytest

from onesided import Monitor, policy
from onesided.errors import DataError, OnesidedError
from onesided.monitor import _monitor

pytestmark = pytest.mark.xdist_group("spark")
PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
RECORD = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int"
)
PLACES = ["gym", "bar", "zoo"]
RULES = {"at_most": 1, "window": "3h", "epsilon": 2, "policy": policy.presence(max_groups=2)}
AT = [f"2026-11-21T0{hour}:00:00Z" for hour in (6, 7, 8, 9)]
VISITS = [("Ann", "gym"), ("Ben", "gym"), ("Änn", "bar"), ("Ben", "gym"), ("Ann", "zoo")]


class Topics:
    """A SparkSession as far as the recipe uses it: topics are folders of JSON records."""

    def __init__(self, spark, folder):
        self.spark, self.folder, self.given = spark, folder, {}
        self.read = self.readStream = self

    def format(self, name):
        assert name == "kafka"
        self.given = {}
        return self

    def option(self, name, value):
        self.given[name] = value
        return self

    def options(self, **given):
        self.given |= given
        return self

    def load(self):
        assert self.given["kafka.bootstrap.servers"] == "nowhere:9092"
        topic = self.given["subscribe"]
        folder = str(self.folder / topic)
        if topic == "batches":
            return self.spark.readStream.schema(RECORD).json(folder)
        first, end = (json.loads(self.given[name])[topic] for name in OFFSETS)
        records = self.spark.read.schema(RECORD).json(folder)
        cuts = [f"partition = {p} AND offset >= {first[p]} AND offset < {end[p]}" for p in first]
        return records.where(" OR ".join(f"({cut})" for cut in cuts))


OFFSETS = ("startingOffsets", "endingOffsets")


def send(folder, topic, name, values, partition=lambda n: n % 2):
    """Append a file of records; each partition counts its own offsets."""
    import base64

    (folder / topic).mkdir(exist_ok=True)
    lines = []
    for number, value in enumerate(values):
        coded = base64.b64encode(value.encode()).decode()
        record = {"value": coded, "topic": topic, "partition": partition(number)}
        lines.append(json.dumps(record | {"offset": number // 2}))
    draft = folder / f".{name}"
    draft.write_text("\n".join(lines))
    draft.rename(folder / topic / f"{name}.json")


def announced(batch, time, starts, ends):
    """An announcement: offsets of the two partitions of the topic of visits."""
    said = [json.dumps({"visits": dict(zip("01", two, strict=True))}) for two in (starts, ends)]
    keys = ("batch", "time", "starts", "ends")
    return json.dumps(dict(zip(keys, (batch, time, *said), strict=True)))


@pytest.fixture
def recipe(spark, tmp_path, monkeypatch):
    """The page's own code, up to the call."""
    import onesided as od

    monkeypatch.setattr(_monitor, "new_key", lambda: bytes(32))
    (text,) = re.findall(r"```text\n(told = .*?)```", PAGE.read_text(), re.DOTALL)
    code, call = text.split("od.spark.monitor(")
    assert call.startswith("told, places, read=read")
    (tmp_path / "batches").mkdir()
    names = {
        "spark": Topics(spark, tmp_path),
        "servers": {"kafka.bootstrap.servers": "nowhere:9092"},
    }
    exec(code, names)  # noqa: S102 - our own page
    given = {"state": tmp_path / "state.db", "spark": spark, **RULES}
    with od.spark.monitor(names["told"], PLACES, read=names["read"], **given) as following:
        yield following


def test_announced_offsets_are_read_as_batches(recipe, tmp_path):
    rows = [json.dumps({"person": person, "place": place}) for person, place in VISITS]
    send(tmp_path, "visits", "all", [*rows, "not JSON"])  # offsets 0, 1, 2 in each partition
    # The first batch takes four records, the second one; the third nobody was in.
    told = [
        announced("one", AT[0], (0, 0), (2, 2)),
        announced("two", AT[1], (2, 2), (3, 2)),
        announced("three", AT[2], (3, 2), (3, 2)),
    ]
    send(tmp_path, "batches", "a", told[:2], partition=lambda _: 0)
    assert recipe.run(tmp_path / "check") == 2
    send(tmp_path, "batches", "b", [*told[2:], told[0]], partition=lambda _: 0)  # one twice
    assert recipe.run(tmp_path / "check") == 3
    batches = ("one", VISITS[:4]), ("two", VISITS[4:]), ("three", [])
    with Monitor(PLACES, **RULES) as here:
        for time, (name, batch) in zip(AT, batches, strict=False):
            table = dict(zip(("person", "place"), zip(*batch, strict=True), strict=False))
            here.step(table or None, id=name, time=time)
        expected = [(release.head, release.status) for release in here.history()]
    found = [(release.head, release.status) for release in recipe.monitor.history()]
    assert found == expected
    # A record that is no JSON has no person: the batch is refused, and nothing is drawn.
    send(tmp_path, "batches", "c", [announced("four", AT[3], (3, 2), (3, 3))])
    with pytest.raises(DataError, match="without a person"):
        recipe.run(tmp_path / "check")
    assert recipe.monitor.last.number == 3


def test_an_announcement_that_cannot_be_read(recipe, tmp_path):
    send(tmp_path, "batches", "a", ["not JSON"])
    with pytest.raises(OnesidedError) as caught:
        recipe.run(tmp_path / "check")
    assert caught.value.hint
    assert recipe.monitor.last is None
