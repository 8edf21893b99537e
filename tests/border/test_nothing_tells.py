"""Nothing but its numbers tells an answer over one table from that over another.

Random pairs of tables of one schema, random questions, every policy family, every engine. Whether
a question is answered follows from public facts alone: what a table without rows refuses is
refused, all else is answered, whatever the rows hold. And all of an answer but its numbers is the
same: its keys, columns and their types, certain sides, warnings, statement. Where the shape is an
answer itself (which keys were found, which groups come first) its columns and words are compared.
What a question asserts of rows is refused before anything is charged.
"""

import importlib.util
import random
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

import duckdb
import narwhals as nw
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.session.kit import prepared

_SPEC = importlib.util.spec_from_file_location(
    "neighbours", Path(__file__).with_name("test_neighbours.py")
)
neighbours = sys.modules["neighbours"] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(neighbours)

P, S = od.policy, od.session
ENGINES = {
    **neighbours.ENGINES,
    # By their types, and not by what the rows hold, as pandas itself would have it.
    "pandas": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
}
POLICIES = {name: family.policy for name, family in neighbours.FAMILIES.items()}
POLICIES |= {"view": P.view("s", over="h", members=2)}
SCHEMA = {**neighbours.SCHEMA, "h": pl.String, "t": pl.Int64, "f": pl.Float64, "b": pl.Int64}
ODD = {
    "p": ("x", "y", "z", None, "", "ä" * 300, "x\x00", "nowhere"),
    "v": (-2, 0, 1, 5, None, 2**63 - 1, -(2**63)),
    "s": (True, False, None),
    "t": (1, 1, 2, None, -(2**63)),
    "f": (0.5, -0.0, float("nan"), float("inf"), float("-inf"), 1e308, None),
    "b": (2**62, -(2**62), 2**52, 7, None),
}
# Their shape is an answer: which keys, in which order, how many.
FOUND = ("TopKRelease", "AboveRelease", "KeysRelease", "SampleRelease")


def rows(rng):
    """A table of any sort: none, a row, many, with whatever its types hold."""
    units = rng.choice((0, 1, 2, 5, 40))
    plain = rng.random() < 0.3
    found = []
    for unit in range(units):
        home = rng.choice(("a", "b", None))
        for _ in range(rng.randint(1, 4)):
            cells = {name: rng.choice(odd[:3] if plain else odd) for name, odd in ODD.items()}
            found.append({"u": unit, "h": home, **cells})
    return pl.DataFrame(found, schema=SCHEMA, orient="row")


def questions(rng, policy):
    """Those of the neighbours' harness, and the ones that it cannot price."""
    yield from neighbours.questions(rng, policy)
    where = rng.choice((None, "v > 0", "b * b > 5", "f * f > 1", "u = 1", "upper(p) = 'X'"))
    told = sorted({rule.kind for rule in policy.rules} | {policy.default_kind})
    told = sorted(policy.kinds) if policy.view else told
    counted = rng.choice((None, *told)) if policy.rules or policy.view else None
    one = {"epsilon": rng.choice(("1/1000", 1, 50)), "where": where}
    by = {**one, "by": "p", "keys": ["x", "y", "w"]}
    cut = rng.choice(policy.excess_modes)
    by |= {"on_excess": cut, "max_groups": None if cut == "keep" else 2}
    own = {"missing": rng.choice(("drop", "drop", "refuse"))}
    high = rng.choice((1, 2**29, 2**40, 2**52, 2**62 // 40))
    column = rng.choice(("v", "b", "f"))
    yield od.Count(**one, counted=counted)
    yield od.Count(**by, counted=counted)
    yield od.Count(weight=column, weight_bounds=(0, high), **by)
    bound = {"bounds": (0, 3), "weight_bounds": (0, min(high, 2**50))}
    yield S.Mean("f" if column != "f" else "v", weight=column, **bound, **own, **one)
    yield S.Mean("f" if column != "f" else "v", weight=column, **bound, **own, **by)
    yield S.RowCount(max_rows=rng.choice((1, 2**33)), **by)
    for bounds in ((0, high), (-high, high)):
        yield S.Sum(column, of="units", total_bounds=bounds, **own, **one)
        yield S.Sum(column, of="units", total_bounds=bounds, **own, **by)
        yield S.Mean(column, bounds=bounds, **own, **by)
        yield S.Mean(column, bounds=bounds, of="rows", max_rows=2, **own, **one)
        yield S.Quantile(column, bounds=bounds, **own, **one)
        yield S.Variance(column, bounds=bounds, **own, **one)
    yield S.Quantile(column, candidates=[0, high], **own, **one)
    yield S.Quantile(column, [i / 12 for i in range(1, 9)], bounds=(0, high), **own, **one)
    yield S.Quantile(column, 1, candidates=[0, 3, high], **own, **by)
    yield S.Histogram(column, bins=[-5, 0, 2, 7], **own, **one)
    for method in ("split", "dawa", "ahp", "hierarchical", "dawaz", "open_shape"):
        yield S.Histogram(column, bins=[-5, 0, 2, 7], method=method, **own, **one)
    yield S.RangeQuery(column, "all", bins=[-5, 0, 2, 7], outside="clamp", **own, **one)
    yield S.LinearQuery([[1, 1, 0], [0, -1, 5]], **{**one, "by": "p", "keys": ["x", "y", "w"]})
    yield S.Discover(by=rng.choice(("p", "v", "s", ["p", "s"])), max_groups=2, **one)
    yield S.Ngrams(by="p", order=rng.choice(("t", "v", "f")), n=2, max_groups=2, **one)
    yield S.Sample(epsilon=1)
    yield S.Above(rng.choice((0, 3)), max_answers=rng.choice((None, 1)), **by)
    yield S.AtMost(1, **by)
    yield S.Enclosed(delta="1/100", **by)
    yield S.Several(
        [S.Sum("b", of="units", total_bounds=(0, 2**62), missing="drop", **one), od.Count(**by)]
    )


def shape(release):
    """All that is not a number of an answer: what two tables must not differ in."""
    if isinstance(release, S.Answers):
        return [shape(part) for part in release]
    types = dict(nw.from_native(release.frame).collect_schema())
    told = [release.kind, str(release.guarantee), release.warnings, types]
    if release.kind in FOUND:
        return [*told, list(release.columns())]
    columns = release.columns()
    keys = {name: columns[name] for name in columns if name in {*SCHEMA, "q", "query"}}
    flags = {name: cells for name, cells in columns.items() if name.endswith("_certain")}
    return [*told, list(columns), keys, flags, len(next(iter(columns.values()))), release.title]


def asked(table, policy, question):
    """The shape of an answer; None where rows are not as the question asserts, at no charge."""
    session = od.Session(table, unit="u", policy=policy, budget=10**6, delta_budget=1)
    try:
        return shape(session.ask(question))
    except (errors.DataError, errors.ContributionError):
        assert prepared(session, question).fails_by_rows, question
        assert not any(session.spent.values()), question
        return None


def offered(table, policy, question):
    """Whether a question is answered at all, by public facts: on a table without rows."""
    session = od.Session(table, unit="u", policy=policy, budget=10**6, delta_budget=1)
    try:
        session.plan(question)
    except errors.OnesidedError:
        return False
    return True


def compared(name, engine, seed, make, *, most, lacks=()):
    """How many pairs of answers were compared, and found to be alike; most: questions asked."""
    rng = random.Random(f"{name} {engine} {seed}")
    policy, number = POLICIES[name], 0
    pair = [make(rows(rng)) for _ in range(2)]
    empty = make(pl.DataFrame(schema=SCHEMA))
    every = [one for one in questions(rng, policy) if not isinstance(one, lacks)]
    for question in rng.sample(every, len(every)):
        if not most:
            break
        if not offered(empty, policy, question):
            for table in pair:
                assert not offered(table, policy, question), (seed, question)
            continue
        most -= 1
        told = [found for table in pair if (found := asked(table, policy, question))]
        if len(told) == 2:
            assert told[0] == told[1], (seed, question)
            number += 1
    return number


@pytest.mark.heavy
@pytest.mark.parametrize("name", POLICIES)
def test_two_tables_are_told_apart_by_numbers_alone(name, rounds):
    """On engines in turn; the short form on one."""
    first = list(POLICIES).index(name)
    for seed in rounds(1):
        engine = list(ENGINES)[(first + seed) % len(ENGINES)]
        rounds.cases += compared(name, engine, seed, ENGINES[engine], most=9)
    assert rounds.cases > 0


# Some policies, each of another sort, and the others in the long form alone.
FEW = ("sensitive", "bounded", "view")
EACH = [n if n in FEW else pytest.param(n, marks=pytest.mark.only_slow) for n in POLICIES]


def on_server(name, engine, make, rounds, *, long_form, lacks=()):
    """The same on an engine that answers in seconds."""
    for seed in rounds(1):
        rounds.cases += compared(name, engine, seed, make, most=4, lacks=lacks)
    assert rounds.cases > 0 or not long_form


@pytest.mark.heavy
@pytest.mark.parametrize("name", EACH)
def test_two_tables_are_told_apart_by_numbers_alone_through_ibis(name, rounds, long_form):
    import ibis

    connection, names = duckdb.connect(), count()
    backend = ibis.duckdb.from_connection(connection)

    def made(frame):
        name = f"t_{next(names)}"
        connection.from_arrow(frame.to_arrow()).create(name)
        return backend.table(name)

    on_server(name, "ibis", made, rounds, long_form=long_form)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("name", EACH)
def test_two_tables_are_told_apart_by_numbers_alone_in_spark(name, spark, rounds, long_form):
    from pyspark.sql.pandas.types import from_arrow_schema

    def made(frame):
        table = frame.to_arrow()
        schema = from_arrow_schema(table.schema)
        return spark.createDataFrame(table, schema)

    on_server(name, "spark", made, rounds, long_form=long_form)


@pytest.mark.heavy
@pytest.mark.parametrize("name", EACH)
def test_two_tables_are_told_apart_by_numbers_alone_in_postgres(
    name, postgres_table, rounds, long_form
):
    """Where no text has a NUL, and rows are taken as they are in no sample."""

    def made(frame):
        return postgres_table(frame.with_columns(pl.col("p").str.replace_all("\0", "")))

    on_server(name, "postgres", made, rounds, long_form=long_form, lacks=(S.Sample,))


class Told(od.session.Count):
    """A count whose answer says whether there are rows: what the harness is to see."""

    def prepare(self, context):
        steps = super().prepare(context)

        def result(answer, entry):
            few = int(answer["noisy"][0]) < 10
            return replace(steps.result(answer, entry), cut="few" if few else "many")

        return replace(steps, result=result)


def test_the_harness_sees_an_answer_whose_words_depend_on_rows():
    few, many = (pl.DataFrame({"u": range(n)}) for n in (1, 999))
    told = [asked(table, P.addition_only(), Told(epsilon=50)) for table in (few, many)]
    assert told[0] != told[1]


def test_the_harness_sees_a_refusal_by_rows(monkeypatch):
    def fails(taken, *_):
        if taken.table.height() > 2:
            raise errors.DataError("Too many rows.", hint="")

    monkeypatch.setattr("onesided.session._groups.Groups.counts", lambda _, taken: fails(taken))
    with pytest.raises(AssertionError):
        asked(pl.DataFrame({"u": [1, 2, 3]}), P.addition_only(), od.Count(epsilon=1))
