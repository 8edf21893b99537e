"""What the golden answers ask: a small table, the policies, and every question.

Read it as three lists. To pin more, add a line and run ``python scripts/golden.py write``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import duckdb
import polars as pl
import pyarrow as pa
from golden_mechanism import Added

import onesided as od
from onesided import policy as p
from onesided import session as s
from onesided.linear import Identity, Prefix

# Several rows a unit, the same row twice, nulls, an opted-out unit, values beyond the bounds.
NAMES: Final = ("person", "household", "place", "hour", "age", "pay", "score", "minor", "opt_in")
ROWS: Final = (
    (1, "A", "a", 7, 34, 30, 1.5, False, True),
    (1, "A", "a", 8, 34, 30, 1.5, False, True),
    (1, "A", "b", 9, 34, 55, 2.5, False, True),
    (2, "A", "a", 7, 12, 0, 0.5, True, True),
    (2, "A", "b", 8, 12, 0, 0.5, True, True),
    (3, "B", "a", 7, 51, 80, 9.0, False, True),
    (3, "B", "b", 9, 51, 20, 4.0, False, True),
    (3, "B", "c", 11, 51, 20, 4.0, False, True),
    (4, "B", "b", 8, 47, 41, 3.5, False, False),
    (5, "C", "c", 7, None, 10, 7.5, None, True),
    (5, "C", "a", 12, None, 10, 7.5, None, True),
    (6, "C", "a", 8, 29, 120, 6.0, False, None),
    (6, "C", "a", 8, 29, 120, 6.0, False, None),
    (6, "C", "b", 9, 29, -7, 6.0, False, None),
    (7, "D", "d", 10, 66, 61, 5.0, False, True),
    (7, "D", None, 11, 66, 61, 5.0, False, True),
    (8, "D", "a", 7, 17, 5, 1.0, True, True),
    (9, "E", "b", 7, 23, 25, 2.0, False, True),
    (9, "E", "a", 8, 23, 25, 2.0, False, True),
    (10, None, "e", 9, 38, 33, 8.0, False, True),
    (11, "F", "a", 7, 71, 12, 3.0, False, True),
    (11, "F", "b", 8, 71, 12, 3.0, False, True),
    (11, "F", "c", 9, 71, 14, 3.5, False, True),
    (11, "F", "d", 10, 71, 14, 3.5, False, True),
    (12, "F", "b", 8, 5, 0, 0.0, True, None),
)
REGISTER: Final = {"household": ["A", "B", "B", "E"], "flag": [False, True, False, None]}
COLUMNS: Final = {name: [row[i] for row in ROWS] for i, name in enumerate(NAMES)}
TYPES: Final = {
    "person": pa.int64(),
    "household": pa.string(),
    "place": pa.string(),
    "hour": pa.int64(),
    "age": pa.int64(),
    "pay": pa.int64(),
    "score": pa.float64(),
    "minor": pa.bool_(),
    "opt_in": pa.bool_(),
    "flag": pa.bool_(),
}
# One relation's connection must outlive it.
CONNECTION: Final = duckdb.connect()


def arrow(columns: Mapping[str, list[Any]]) -> pa.Table:
    """The columns as one table of typed values, from which each engine's own is made."""
    return pa.table({name: pa.array(some, TYPES[name]) for name, some in columns.items()})


ENGINES: Final[Mapping[str, Callable[[Mapping[str, list[Any]]], Any]]] = {
    "polars": lambda columns: pl.DataFrame(arrow(columns)),
    "duckdb": lambda columns: CONNECTION.from_arrow(arrow(columns)),
    "pyarrow": arrow,
}

PLACES: Final = {"a": (0, 0), "b": (3, 4), "c": (10, 0), "d": (13, 4)}
POLICIES: Final[Mapping[str, p.Policy]] = {
    "bounded": p.bounded(),
    "unbounded": p.unbounded(),
    "addition_only": p.addition_only(),
    "removal_only": p.removal_only(),
    "sensitive": p.sensitive("age < 18 or not opt_in"),
    "extended_sensitive": p.extended_sensitive("age < 18"),
    "proposition": p.proposition("age >= 18"),
    "tiers": p.tiers({"strict": ("1/2", "minor"), "middle": (1, "age > 60"), "rest": 2}),
    "tiers, the last open": p.tiers({"strict": ("1/2", "age < 18"), "rest": od.INFINITE}),
    "custom": p.custom(
        kinds=["ill", "well", "absent"],
        edges=[("ill", "well", "1/2"), ("ill", "absent"), ("absent", "well", 2)],
        rules=[("ill", "age > 40")],
        default="well",
    ),
    "presence": p.presence(max_groups=2),
    "attributes": p.attributes({"place": ["a", "b"]}),
    "graph": p.graph([("a", "b"), ("b", "c", "1/2")]),
    "directed graph": p.graph(
        [("a", "b"), ("b", "a", 3), ("c", "absent")], directed=True, values=["d"]
    ),
    "neighbourhood": p.neighbourhood(radius=5, places=PLACES, sources=[(0, -1)]),
    "neighbourhood of values": p.neighbourhood(radius=5),
    "local": p.local(["a", "b", "c", "d"], sensitive=["a", "c"]),
    "view": p.view("age < 18", over="household", members=3),
    "view of a table": p.view("flag", over="household", members=2, table="register"),
    "presence & sensitive": p.presence(max_groups=2) & p.sensitive("age < 18"),
    "bounded & sensitive": p.bounded() & p.sensitive("age < 18"),
    "unbounded & addition_only": p.unbounded() & p.addition_only(),
    "graph & proposition": p.graph([("a", "b")]) & p.proposition("age >= 18"),
    "sensitive_presence": p.sensitive_presence("age < 18", max_groups=2),
}
TABLES: Final = {"view of a table": {"register": REGISTER}}
ALL: Final = tuple(POLICIES)
# Counts fall only; counts rise and fall; records come and go; values move.
FEW: Final = ("presence", "bounded", "sensitive", "addition_only")
KINDS: Final = ("sensitive", "extended_sensitive", "tiers, the last open", "custom", "view")
FALLING: Final = ("presence", "addition_only")
VALUES: Final = ("graph", "directed graph", "neighbourhood", "neighbourhood of values", "unbounded")

# Sessions that differ from that of persons: rows as units, a schema, another table joined.
SCHEMA: Final = od.Schema(
    unit="person",
    columns={
        "person": od.column("integer"),
        "place": od.column("text", keys=["a", "b", "c", "d"]),
        "age": od.column("integer", bounds=(0, 110)),
        "pay": od.column("integer", bounds=(0, 100), step=10),
    },
)
SESSIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "persons": {"unit": "person"},
    "rows": {"unit": None},
    "schema": {"schema": SCHEMA},
}


class Asked(NamedTuple):
    """One question as one variant: under which policies, and in which session."""

    variant: str
    question: Any
    policies: Iterable[str] = FEW
    session: str = "persons"


KEYS: Final = ["a", "b", "c", "d"]
PLACE: Final[dict[str, Any]] = {"by": "place", "keys": KEYS, "epsilon": 1}
# Where the policy does not say how many groups of a unit it covers, the question has to.
TWO: Final[dict[str, Any]] = {**PLACE, "max_groups": 2, "on_excess": "truncate"}
ONE: Final[dict[str, Any]] = {**PLACE, "max_groups": 1, "on_excess": "truncate"}
CROSSED: Final[dict[str, Any]] = {
    "by": ["place", "minor"],
    "keys": od.cross(place=["a", "b"], minor=[False, True]),
    "epsilon": 2,
}
MADE: Final[dict[str, Any]] = {
    "columns": ["place", "minor"],
    "keys": {"place": ["a", "b"]},
    "records": 9,
    "epsilon": 2,
}
TO_80_ONLY: Final[dict[str, Any]] = {"of": "units", "total_bounds": (0, 80), "missing": "drop"}
AGES: Final = [0, 18, 35, 60, 110]
PAY: Final[dict[str, Any]] = {"bounds": (0, 100), "epsilon": 2}
TOTAL: Final[dict[str, Any]] = {"of": "units", "total_bounds": (0, 100), "epsilon": 2}
TO_80: Final[dict[str, Any]] = {**TOTAL, "total_bounds": (0, 80)}
TAKEN: Final[dict[str, Any]] = {**PAY, "of": "rows", "max_rows": 2}
ROUTES: Final = {"west": ["a", "b"], "east": ["b", "c", "d"], "all": KEYS}
JOINT: Final = {"age": [0, 18, 60, 110], "pay": [0, 25, 50, 101]}
ONE_CELL: Final[dict[str, Any]] = {"max_groups": 1, "epsilon": 2, "missing": "drop"}

QUESTIONS: Final[Mapping[str, tuple[Asked, ...]]] = {
    "Count": (
        Asked("by place", s.Count(**TWO), ALL),
        Asked("one place each", s.Count(**ONE), ALL),
        Asked("the policy's own groups", s.Count(**PLACE), FEW),
        Asked("in all", s.Count(epsilon="1/2"), ALL),
        Asked("rows as units", s.Count(**PLACE), ALL, "rows"),
        Asked("schema's keys", s.Count(by="place", epsilon=1, max_groups=4), FEW, "schema"),
        Asked("where", s.Count(**TWO, where="age >= 18 and place <> 'c'")),
        Asked("others", s.Count(**TWO, others=True)),
        Asked("refused if in more", s.Count(**PLACE, max_groups=3, on_excess="error")),
        Asked("kept whole", s.Count(**PLACE, on_excess="keep")),
        Asked("open", s.Count(**TWO, counted="open"), (*KINDS, "presence")),
        Asked("mean correction", s.Count(**TWO, correction="mean", confidence="0.9")),
        Asked("uncorrected, all at once", s.Count(**TWO, correction="none", simultaneous=True)),
        Asked(
            "by two columns",
            s.Count(by=["place", "minor"], keys=od.cross(place=["a", "b"], minor=[False, True]),
                    epsilon="3/2", max_groups=2, on_excess="truncate"),
        ),
        Asked("no keys", s.Count(by="place", epsilon=1, max_groups=2), ("presence", "bounded")),
        Asked("unknown column", s.Count(by="town", keys=["x"], epsilon=1), ("presence",)),
        Asked("bad condition", s.Count(**TWO, where="any(age < 3)"), ("presence",)),
        Asked("more than is left", s.Count(by="place", keys=KEYS, epsilon=10**6), ("presence",)),
        Asked("no epsilon", s.Count(by="place", keys=KEYS, epsilon=0), ("presence",)),
    ),
    "CrossTable": (
        Asked("units", s.CrossTable(**CROSSED, on_excess="truncate"), ALL),
        Asked("rows", s.CrossTable(**CROSSED, of="rows", max_rows=2, margins="rollup")),
        Asked("sums", s.CrossTable(**CROSSED, column="pay", **TO_80_ONLY), ("addition_only",)),
        Asked("rows as units", s.CrossTable(**CROSSED, strategy="margins"), FEW, "rows"),
    ),
    "Synthetic": (
        Asked("units", s.Synthetic(**MADE, pairs=[["place", "minor"]], on_excess="truncate"), ALL),
        Asked("rows as units", s.Synthetic(**MADE, pairs=[]), FEW, "rows"),
    ),
    "RowCount": (
        Asked("by place", s.RowCount(**TWO, max_rows=2), ALL),
        Asked("in all", s.RowCount(epsilon=1, max_rows=3), ALL),
        Asked("one place each", s.RowCount(**ONE, max_rows=2), VALUES),
        Asked("where, others", s.RowCount(**TWO, max_rows=1, where="hour < 10", others=True)),
        Asked("rows as units", s.RowCount(**PLACE, max_rows=2), ("bounded",), "rows"),
    ),
    "Sum": (
        Asked("by place", s.Sum("pay", **{**TWO, **TOTAL}), ALL),
        Asked("in all", s.Sum("pay", **TOTAL), ALL),
        Asked("of rows", s.Sum("pay", **TAKEN), ALL),
        Asked("of rows by place", s.Sum("pay", **{**TWO, **TAKEN}), ALL),
        Asked("of neither", s.Sum("pay", **PAY), ("presence",)),
        Asked("one place each", s.Sum("pay", **{**ONE, **TOTAL}), VALUES),
        Asked("rows as units", s.Sum("pay", **PAY), (*FEW, *KINDS), "rows"),
        Asked("schema's bounds and grid", s.Sum("pay", of="rows", max_rows=2, epsilon=2), FEW,
              "schema"),
        Asked("halves, both signs",
              s.Sum("score", of="units", total_bounds=(-4, 4), step="1/2", epsilon=1)),
        Asked("missing dropped", s.Sum("age", **TO_80, missing="drop")),
        Asked("missing refused", s.Sum("age", **TO_80)),
        Asked("others", s.Sum("pay", **{**TWO, **TOTAL}, others=True, where="hour < 11")),
        Asked("simultaneous",
              s.Sum("pay", **{**TWO, **TOTAL}, simultaneous=True, confidence="0.8")),
        Asked("no bounds", s.Sum("pay", epsilon=1), ("presence",)),
    ),
    "Mean": (
        Asked("in all", s.Mean("pay", **PAY), ALL),
        Asked("by place", s.Mean("pay", **{**TWO, **PAY}), FEW),
        Asked("of rows", s.Mean("pay", **PAY, of="rows", max_rows=2), (*FEW, *KINDS)),
        Asked("rows as units", s.Mean("pay", **PAY), ALL, "rows"),
        Asked("where", s.Mean("pay", **PAY, where="hour < 9")),
        Asked("missing dropped", s.Mean("age", bounds=(0, 80), missing="drop", epsilon=2)),
        Asked("of rows without a limit", s.Mean("pay", **PAY, of="rows"), ("presence",)),
    ),
    "Variance": (
        Asked("in all", s.Variance("pay", **PAY), ALL),
        Asked("by place", s.Variance("pay", **{**TWO, **PAY}), ("bounded", "presence")),
        Asked("of rows", s.Variance("pay", **PAY, of="rows", max_rows=2), FEW),
    ),
    "Quantile": (
        Asked("median", s.Quantile("pay", "1/2", bounds=(0, 100), step=10, epsilon=2), ALL),
        Asked(
            "median by counts",
            s.Quantile("pay", "1/2", candidates=[0, 20, 40, 80], method="cumulative", epsilon=2,
                       max_groups=1, on_excess="truncate"),
            ALL,
        ),
        Asked(
            "largest",
            s.Quantile("pay", 1, candidates=[0, 20, 40, 80], epsilon=2, max_groups=1,
                       on_excess="truncate"),
            ALL,
        ),
        Asked(
            "smallest by place",
            s.Quantile("pay", 0, **{**TWO, "epsilon": 2}, candidates=[0, 20, 40, 80],
                       method="cumulative"),
        ),
        Asked("median of rows", s.Quantile("pay", "1/2", **TAKEN, interpolate=True), ALL),
        Asked("lower of rows by place",
              s.Quantile("pay", "1/3", **{**TWO, **TAKEN}, interpolate=False), FEW),
        Asked("schema's grid", s.Quantile("pay", "3/4", epsilon=2), FEW, "schema"),
        Asked("share beyond one", s.Quantile("pay", 2, candidates=[1], epsilon=1), ("bounded",)),
    ),
    "Histogram": (
        Asked("counts", s.Histogram("age", bins=AGES, **ONE_CELL), ALL),
        Asked("equal bins", s.Histogram("pay", bins=4, bounds=(0, 100), max_groups=2, epsilon=1)),
        Asked("joint", s.Histogram(JOINT, **ONE_CELL, on_excess="truncate")),
        Asked("joint, of rows", s.Histogram(JOINT, epsilon=2, missing="drop"), FEW, "rows"),
        Asked("by place", s.Histogram("pay", bins=[0, 50, 101], **TWO)),
        Asked("missing refused", s.Histogram("age", bins=AGES, epsilon=1, max_groups=1)),
        *(
            Asked(f"{method}, rows as units",
                  s.Histogram("pay", bins=8, bounds=(0, 80), epsilon=2, method=method),
                  (*FEW, *KINDS), "rows")
            for method in ("best", "split", "open_shape", "dawa", "ahp", "hierarchical",
                           "dawaz", "ahpz", "hierarchicalz")
        ),
        *(
            Asked(f"{method}, rows as units",
                  s.Histogram({"hour": range(7, 14), "pay": [0, 20, 40, 60, 130]}, epsilon=2,
                              method=method, records=25),
                  (*FEW, *KINDS), "rows")
            for method in ("agrid", "agridz")
        ),
        Asked("dawa of persons", s.Histogram("age", bins=AGES, **ONE_CELL, method="dawa"), FEW),
        Asked("with a guess", s.Histogram("age", bins=AGES, **ONE_CELL, like=[3, 4, 2, 2])),
        Asked("no such method", s.Histogram("age", bins=AGES, epsilon=1, method="x"), ("bounded",)),
    ),
    "RangeQuery": (
        Asked("all", s.RangeQuery("pay", "all", bins=[0, 20, 40, 60, 80], epsilon=1), ALL, "rows"),
        Asked("cells, identity",
              s.RangeQuery("pay", "cells", bins=[0, 20, 40, 80], epsilon=1, strategy="identity"),
              (*FEW, *VALUES), "rows"),
        Asked("two ranges", s.RangeQuery("pay", [(0, 40), (20, 80)], bins=range(0, 81, 20),
                                         epsilon=1), (*FEW, *VALUES)),
        Asked("rectangles",
              s.RangeQuery({"hour": range(7, 13), "pay": [0, 40, 80]}, "cells", epsilon=2),
              (*FEW, "neighbourhood of values"), "rows"),
        Asked("prefixes, not negative",
              s.RangeQuery("pay", "prefixes", bins=4, bounds=(0, 80), epsilon=1,
                           non_negative=True, simultaneous=True, where="hour < 10"),
              FEW, "rows"),
        Asked("beyond refused",
              s.RangeQuery("pay", "all", bins=[0, 40, 80], epsilon=1, outside="refuse"),
              ("bounded",), "rows"),
    ),
    "LinearQuery": (
        Asked("matrix", s.LinearQuery([[1, 1, 0, 0], [0, 0, 1, 1], [1, 2, 3, 4]], **PLACE),
              ALL, "rows"),
        Asked("matrix of persons", s.LinearQuery([[1, 1, 1, 1]], **PLACE), ALL),
        Asked("prefix operator", s.LinearQuery(Prefix(4), **PLACE), (*FEW, *VALUES), "rows"),
        Asked("own strategy, all at once",
              s.LinearQuery(Prefix(4), **PLACE, strategy=Identity(4), simultaneous=True,
                            non_negative=True, confidence="0.9"), (*FEW, *VALUES), "rows"),
        Asked("where", s.LinearQuery([[1, 0, 0, 1]], **PLACE, where="age > 20"), FEW, "rows"),
    ),
    "AtMost": (
        Asked("five", s.AtMost(5, **TWO), ALL),
        Asked("the policy's own groups", s.AtMost(5, **PLACE), FALLING),
        Asked("each its own", s.AtMost({"a": 9, "b": 3, "c": 1, "d": 0}, **TWO), FALLING),
        Asked("routes", s.AtMost(6, **PLACE, of=ROUTES), (*FALLING, "bounded")),
        Asked("rows as units", s.AtMost(3, **PLACE), ALL, "rows"),
    ),
    "Above": (
        Asked("two answers", s.Above(2, **TWO, max_answers=2), ALL),
        Asked("the policy's own groups", s.Above(2, **PLACE, max_answers=1), FALLING),
        Asked("adaptive", s.Above(1, **PLACE, max_answers=1, adaptive=True), FALLING),
        Asked("never stops", s.Above(4, **PLACE, max_answers=None), FALLING),
        Asked("routes", s.Above([5, 5, 9], **PLACE, max_answers=2, of=ROUTES), FALLING),
        Asked("adaptive, never stops", s.Above(1, **PLACE, max_answers=None, adaptive=True),
              ("presence",)),
    ),
    "AtLeast": (
        Asked("two", s.AtLeast(2, **TWO), ALL),
        Asked("open", s.AtLeast(1, **TWO, counted="open"), ("sensitive", "view")),
        Asked("routes", s.AtLeast(1, **TWO, of=ROUTES), ("removal_only",)),
    ),
    "Below": (
        Asked("two answers", s.Below(2, **TWO, max_answers=2), ALL),
        Asked("adaptive", s.Below(2, **TWO, max_answers=1, adaptive=True), ("removal_only",)),
    ),
    "TopK": (
        Asked("two", s.TopK(2, **TWO), ALL),
        Asked("the policy's own groups", s.TopK(2, **PLACE), FALLING),
        Asked("bounded below", s.TopK(1, **PLACE, confidence="0.9", where="hour < 10"), FALLING),
        Asked("rows as units", s.TopK(3, **PLACE), ALL, "rows"),
        Asked("too many", s.TopK(9, **PLACE), ("presence",)),
    ),
    "Enclosed": (
        Asked("by place", s.Enclosed(**TWO, delta="1/100"), ALL),
        Asked("the policy's own groups", s.Enclosed(**PLACE, delta="1/100"), FALLING),
        Asked("in all", s.Enclosed(epsilon=1, delta="1/1000"), FALLING),
        Asked("more than is left", s.Enclosed(epsilon=1, delta="1/2"), FALLING),
    ),
    "Discover": (
        Asked("places", s.Discover(by="place", epsilon=3, max_groups=2), ALL),
        Asked("rows as units", s.Discover(by="place", epsilon=3), (*FEW, *KINDS), "rows"),
        Asked("two columns", s.Discover(by=["place", "hour"], epsilon=4, max_groups=3), KINDS),
        Asked("above one", s.Discover(by="place", epsilon=4, max_groups=2, threshold=1,
                                      where="hour < 11"), KINDS),
    ),
    "Ngrams": (
        Asked("pairs", s.Ngrams(by="place", order="hour", n=2, epsilon=4, max_groups=2), ALL),
        Asked("triples", s.Ngrams(by="place", order=["hour", "pay"], n=3, epsilon=6, max_groups=1),
              KINDS),
        Asked("rows as units", s.Ngrams(by="place", order="hour", n=2, epsilon=4),
              ("sensitive",), "rows"),
    ),
    "Ratio": (
        Asked("part and whole", s.Ratio([s.Count(**PLACE, max_groups=4, where="hour < 11"),
                                         s.Count(**PLACE, max_groups=4)], epsilon=4), ALL),
        Asked("cut to groups",
              s.Ratio([s.Count(**TWO, where="hour < 11"), s.Count(**TWO)], epsilon=4)),
        Asked("pay of each", s.Ratio([s.Sum("pay", **TOTAL), s.Count(epsilon=1)]), ALL),
        Asked("told alone",
              s.Ratio([s.Sum("pay", **TOTAL), s.Count(epsilon=1)], joint=False, epsilon=2)),
        Asked("rows as units", s.Ratio([s.Count(**PLACE, where="minor"), s.Count(**PLACE)]),
              ALL, "rows"),
    ),
    "Sample": (
        Asked("persons", s.Sample(epsilon=1), ALL),
        Asked("rows as units", s.Sample(epsilon=1), (*FEW, *KINDS), "rows"),
    ),
    "Several": (
        Asked("count, sum and mean",
              s.Several([s.Count(**TWO), s.Sum("pay", **TOTAL), s.Mean("pay", **PAY)]), ALL),
        Asked("shared equally", s.Several([s.Count(**TWO), s.Count(epsilon=1)], epsilon=2)),
        Asked("weights",
              s.Several([s.Count(**TWO), s.Sum("pay", **TOTAL)], epsilon=2, weights=[1, 3])),
        Asked("guesses",
              s.Several([s.Count(**TWO), s.Sum("pay", **TOTAL)], epsilon=2, guesses=[5, 300])),
        Asked("none", s.Several([]), ("bounded",)),
    ),
    "OwnMechanism": (
        Asked("unverified", s.OwnMechanism(Added(1), **{**TWO, "epsilon": 4}, statistic="count",
                                           unverified=True), ALL),
        Asked("sums", s.OwnMechanism(Added(1), epsilon=100, statistic="sum", column="pay",
                                     bounds=(0, 100), unverified=True), FEW),
        Asked("without a check", s.OwnMechanism(Added(1), **TWO, statistic="count"),
              ("presence",)),
    ),
}  # fmt: skip
