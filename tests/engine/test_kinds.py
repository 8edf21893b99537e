"""Which rows a session counts when it counts some kinds, beside plain Python's word on each row."""

import random

import duckdb
import polars as pl
import pytest

from onesided.conditions import Condition
from onesided.engine import Table
from onesided.policy import Predicate, Rule
from onesided.schema import NUMBER, TEXT, bits

TEXTS = (
    "a > 1",
    "x < 0.5",
    "s = 'u'",
    "a <= 2 AND x <> 1",
    "s LIKE 'u%' OR a IS NULL",
    "NOT x > 0",
)
TYPES = {"a": bits(64), "x": NUMBER, "s": TEXT}
KINDS = ("minor", "staff", "guest")


def table(rng, rows):
    values = {
        "person": [rng.randrange(rows // 2) for _ in range(rows)],
        "a": [rng.choice([None, 0, 1, 2, 3]) for _ in range(rows)],
        "x": [rng.choice([None, float("nan"), float("inf"), -1.0, 0.0, 1.0]) for _ in range(rows)],
        "s": [rng.choice([None, "u", "uv", ""]) for _ in range(rows)],
    }
    return pl.DataFrame(values, schema_overrides={"a": pl.Int64, "x": pl.Float64})


def native(engine, frame):
    if engine == "polars":
        return frame
    connection = duckdb.connect()
    connection.register("source", frame.to_arrow())
    connection.execute("CREATE TABLE t AS SELECT * FROM source")
    return connection.table("t")


def some_rule(rng, kind):
    first, *also = map(Predicate.of, rng.sample(TEXTS, rng.randint(1, 3)))
    return Rule(kind, first, tuple(also))


def kind_of(rules, rows):
    """The first rule each of whose conditions some row meets, or may meet."""
    for rule in rules:
        if all(any(met(one, row) for row in rows) for one in rule.predicates):
            return rule.kind
    return "open"


def met(predicate, row):
    return Condition.parse(predicate.text).bind(TYPES).of(row) is not False


@pytest.mark.parametrize("unit", [None, "person"])
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_rows_of_the_counted_kinds_are_counted_and_no_others(engine, unit):
    rng = random.Random(5)
    for _ in range(4):
        frame = table(rng, 14).with_row_index("n")
        rows = frame.drop("n").to_dicts()
        rules = tuple(some_rule(rng, kind) for kind in KINDS[: rng.randint(1, 3)])
        own = [[r for r in rows if unit is None or r[unit] == row[unit]] for row in rows]
        alone = [[row] for row in rows] if unit is None else own
        kinds = [kind_of(rules, around) for around in alone]
        told = Table(native(engine, frame))
        names = [rule.kind for rule in rules] + ["open"]
        for many in range(1, len(names) + 1):
            counted = frozenset(rng.sample(names, many))
            with told.take(["n", "person", *TYPES]) as held:
                chosen = held.select(
                    unit=unit and held.at(unit),
                    by=[held.at("n")],
                    where=None,
                    rules=rules,
                    default="open",
                    counted=counted,
                )
                (found,) = held.arrays(chosen.select(held.at("n"))).values()
            found = sorted(found.tolist())
            assert found == [n for n, one in enumerate(kinds) if one in counted], (rules, counted)
