"""Questions whose keys are found in the data: groups, and sequences of values in trajectories."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import Number, positive, whole
from onesided.engine.kit import LENGTH, LOWER, Column, KeyCodes, Lazy, first_groups
from onesided.errors import KeysError, ParameterError, UnprotectableError
from onesided.mechanism import UnknownKeys
from onesided.mechanism.kit import open_kinds
from onesided.noise import IntArray, Noise
from onesided.policy import GroupCount
from onesided.session._context import LeftOut, QueryContext, Taken, counted_where, left_out
from onesided.session._count import with_delta
from onesided.session._fields import Condition, Counted, IfUnknown
from onesided.session._groups import group_count, kinds_of, names_of, refuse_clashes
from onesided.session._plan import Plan, priced
from onesided.session._question import Answer, Packed, PreparedQuery
from onesided.session._release import Release
from onesided.session._statement import Nouns
from onesided.show import RoleTable

# A window of more rows is no longer a key that two people share.
MOST: Final = 64
Found = Mapping[str, Column]


def published(found: Any, names: Sequence[str], told: IntArray) -> Found:
    """The keys whose noisy count is told, with it: largest first, then by key."""
    places = found.columns[: len(names)]
    lower = nw.new_series(LOWER, told, backend=found.implementation)
    kept = found.select(*places).with_columns(lower).filter(nw.col(LOWER) > 0)
    made = ordered(kept, places)
    return {LOWER: made[LOWER], **{n: made[p] for n, p in zip(names, places, strict=True)}}


def ordered(kept: nw.DataFrame[Any], names: Sequence[str]) -> Found:
    """Largest first, then by key, in columns of its own.

    The data's order, an index or a buffer of text would tell what was not published.
    """
    turned = kept.sort(LOWER, *names, descending=[True, *[False] * len(names)])
    return {name: plain(turned[name]) for name in kept.columns}


def plain(series: nw.Series[Any]) -> Column:
    """A column as an array of numbers, or a list of text; moments keep their unit."""
    if series.dtype == nw.String:
        return series.to_list()
    values = series.to_numpy()
    if values.dtype.kind in "iub":
        return values
    unit = getattr(series.dtype, "time_unit", "D")
    return values.astype(f"datetime64[{unit}]")


def packed(column: Column) -> tuple[str, NDArray[np.uint8]]:
    """A column as its type and its bytes."""
    if not isinstance(column, np.ndarray):
        return "text", np.frombuffer(json.dumps(list(column)).encode(), dtype=np.uint8)
    return column.dtype.str, np.frombuffer(np.ascontiguousarray(column).tobytes(), dtype=np.uint8)


def unpacked(kind: str, raw: NDArray[Any]) -> Column:
    if kind == "text":
        return list(json.loads(raw.tobytes()))
    return np.frombuffer(raw.tobytes(), dtype=np.dtype(kind)).copy()


# Counts by keys that nobody listed: which keys appear is part of the noisy answer.

Secret = nw.DataFrame[Any] | Mapping[str, IntArray]
KeyTypes = Mapping[str, nw.dtypes.DType]
Pairs = tuple[Lazy, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Discover:
    """How many open units (rows, if that is the unit) are in each group, and in which groups?

    Nobody lists the groups. One is told only if its noisy count is above ``threshold``, and the
    noise is below the truth: so groups without anybody are never told, the numbers told are certain
    lower bounds, and memory grows with the groups that occur. Pure ε where counts only rise; where
    they may fall, a group could give somebody away, which ``delta`` allows with that chance. Noise
    then has an end: units in no more than ``max_groups`` groups leave upper bounds certain, too.
    epsilon: loss per unit of edge weight, in nats.
    delta: the chance, beside ε, with which a move may be given away, of all groups that it changes;
        it is charged where counts may fall, and the session's ``delta_budget`` must allow it. Less
        than one in the number of units is usual.
    by: grouping column or columns: whole numbers, text, categories, booleans, dates. A row in which
        one of them is null is in no group.
    max_groups: the most groups in which one unit is counted; the others of a unit are left out,
        in an order that depends on the groups' names alone. Lower bounds stay certain. The row is
        in one group.
    counted: the kinds of units to count; None is every kind that no move of the policy starts from.
        Others, and all where there is none, need ``delta``.
    where: SQL text that picks rows; a unit's kind is decided before.
    unknown: as in :class:`onesided.session.Grouped`.
    threshold: tell a group only if its noisy count is above this.
    id, again: as in :class:`onesided.session.Grouped`.
    Errors: UnprotectableError if a move lowers a count, as under presence, and no ``delta`` is
    given.

    >>> import polars as pl, onesided as od
    >>> trips = pl.DataFrame(
    ...     {"person": [1, 1, 2, 2], "place": ["a", "b"] * 2, "minor": [False] * 4})
    >>> policy = od.policy.sensitive("minor")
    >>> session = od.Session(trips, unit="person", policy=policy, budget=1000)
    >>> session.discover(by="place", epsilon=90, max_groups=2).labels
    ['a', 'b']
    >>> both = {"policy": od.policy.unbounded(), "budget": 1000, "delta_budget": "1e-6"}
    >>> session = od.Session(trips, unit="person", **both)
    >>> session.plan(od.Discover(by="place", epsilon=1, delta="1e-6", max_groups=1)).affordable
    True
    """

    epsilon: Number
    by: str | Sequence[str]
    delta: Number | None = None
    max_groups: int | None = None
    counted: Counted = None
    where: Condition = None
    unknown: IfUnknown = "recorded"
    threshold: int = 0
    id: str | None = None
    again: bool = False
    title: str = ""

    work: ClassVar = 3  # as many counts may take
    later: ClassVar = ("delta",)

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        return f"Number of {nouns.units}, of keys found in the data"

    def prepare(self, context: QueryContext) -> PreparedQuery[Secret, Release]:
        """Check and price the question. Looks at no row."""
        by = names_of(self.by, name="by")
        if not by:
            raise ParameterError(
                "Without a grouping column there are no keys to find.",
                hint="Pass by=, or use count to count everything.",
            )
        context.table.require(*by)
        refuse_clashes(by, context.unit)
        types = key_types(context, by)

        def keyed(rows: Lazy, taken: Taken, places: tuple[str, ...]) -> Pairs:
            del taken
            typed = _typed(rows, dict(zip(places, types.values(), strict=True)))
            return typed.filter(*(~nw.col(place).is_null() for place in places)), places

        return search(self, context, by, types=types, keyed=keyed, what={"by": list(by)})


def search(
    question: Discover | Ngrams,
    context: QueryContext,
    by: tuple[str, ...],
    *,
    types: KeyTypes,
    keyed: Callable[[Lazy, Taken, tuple[str, ...]], Pairs],
    what: Mapping[str, object],
    rises: bool = True,
    said: str = "",
) -> PreparedQuery[Secret, Release]:
    """The question in its steps.

    by: the columns that are looked at. keyed: of their rows, those of a unit and its keys.
    """
    where, delta = question.where, question.delta
    chosen = counted_where(where, question.unknown)
    query = counted_query(question, context, by, delta)
    missing = left_out(context, by, where, question.unknown, counted=query.counted, rises=rises)
    missing = replace(missing, lost=missing.lost and delta is not None)
    names, codes = list(types), KeyCodes.of(types, context.table.engine)
    mechanism = UnknownKeys.for_policy(
        context.policy,
        epsilon=question.epsilon,
        query=query,
        delta=delta,
        threshold=question.threshold,
    )
    plan = _plan(context, query, mechanism, missing, said)
    if delta is not None:
        most = positive(delta, name="delta")
        plan = with_delta(plan, mechanism, context.policy.shifts(query), most=most)

    def look(taken: Taken) -> Secret:
        places = taken.at(by)
        rows = taken.rows(places, where=chosen, counted=query.counted)
        cut = query.max_groups if query.truncated else None
        return _counts(taken, *keyed(rows, taken, places), codes, most=cut)

    def draw(found: Secret, noise: Noise | None) -> Answer:
        told = mechanism.release(np.asarray(found[LENGTH], dtype=np.int64), noise=noise)
        kept = codes.published(found, told) if codes else published(found, names, told)
        return {"found": kept}

    def result(answer: Answer, entry: int | None) -> Release:
        width = mechanism.width if "upper" in plan.certain else None
        told = _bounded(answer["found"], mechanism.median, width)
        return Release(
            kind="KeysRelease",
            told=told,
            summary=f"{many(len(told), 'group')} found by their noisy counts.",
            own={"mechanism": mechanism},
            guarantee=plan.guarantee,
            entry=entry,
            cut=f"{missing.sentence(plan.certain)} {_cut(query, context, plan, missing)}".strip(),
            _make_frame=lambda columns: context.table.engine.answer(columns, types),
        )

    return _Keys(
        detail={
            "unit": context.unit_name,
            "counted": sorted(query.counted or ()),
            "max_groups": str(query.max_groups or ""),
            **({} if delta is None else {"delta": str(positive(delta, name="delta"))}),
            **what,
            "where": chosen.text if chosen else "",
        },
        plan=plan,
        context=context,
        columns=context.using(*by, where=chosen, counted=query.counted),
        look=look,
        draw=draw,
        result=result,
    )


def _bounded(found: Found, median: int, width: int | None) -> RoleTable:
    """The keys that were found, with their numbers of units, by the median and width of noise."""
    lower = np.asarray(found[LOWER], dtype=np.int64)
    keys = {name: column for name, column in found.items() if name != LOWER}
    sure = np.full(lower.size, fill_value=True)
    # The bounds plus the noise's median; too small for groups just above the edge.
    numbers = {"estimate": lower + median, LOWER: lower, "lower_certain": sure}
    if width is not None:
        numbers |= {"upper": lower + width, "upper_certain": sure}
    return RoleTable.of({**keys, **numbers}, roles=dict.fromkeys(keys, "key"))


def counted_query(
    question: Any, context: QueryContext, by: tuple[str, ...], delta: Number | None = None
) -> GroupCount:
    """Which kinds are counted, and in how many groups a unit may be; by default kinds without δ."""
    policy, counted = context.policy, question.counted
    if counted is None and policy.rules:  # the open kinds that the table can tell
        told = {rule.kind for rule in policy.rules} | {policy.default_kind}
        counted = sorted(set(open_kinds(policy)) & told) or None
    asked = replace(question, counted=counted)
    if asked.max_groups is None and delta is None:
        # A policy under which nothing can be found is refused as that.
        kinds = kinds_of(counted, policy)
        one = GroupCount(max_groups=1, counted=kinds, truncated=True)
        UnknownKeys.for_policy(policy, epsilon=1, query=one, delta=None, threshold=0)
    return group_count(asked, context, by)[0]


def key_types(context: QueryContext, names: Sequence[str]) -> KeyTypes:
    """The types in which columns are told. Errors: KeysError; DataError for collated text.

    Categories become text: their own order may be that in which the data had them.
    """
    context.table.refuse_collated(*names)
    told: dict[str, nw.dtypes.DType] = {}
    for name in names:
        dtype = context.schema[name]
        whole = dtype.is_integer() and not isinstance(dtype, nw.UInt128 | nw.Int128)
        moment = isinstance(dtype, nw.Datetime) and dtype.time_zone is None
        text = isinstance(dtype, nw.String | nw.Categorical | nw.Enum)
        if not (whole or moment or text or isinstance(dtype, nw.Boolean | nw.Date)):
            raise KeysError(
                f"Column {name!r} holds {dtype}, whose keys cannot be found.",
                hint="Group by whole numbers, text, categories, booleans or dates; cast moments "
                "with a time zone to UTC without one.",
                column=name,
            )
        told[name] = nw.String() if text else dtype
    return told


def _typed(rows: Lazy, types: KeyTypes) -> Lazy:
    """Rows whose key columns have these types."""
    schema = rows.collect_schema()
    casts = [nw.col(name).cast(dtype) for name, dtype in types.items() if schema[name] != dtype]
    return rows.with_columns(*casts) if casts else rows


def _counts(
    taken: Taken, pairs: Lazy, places: Sequence[str], codes: KeyCodes | None, *, most: int | None
) -> Secret:
    """Units per key that occurs. Secret, as are the keys."""
    engine, unit = taken.table.engine, taken.unit
    if codes is not None:
        inside = replace(codes, types=dict(zip(places, codes.types.values(), strict=True)))
        return inside.counts(pairs, unit=unit, most=most)
    if unit is not None:
        pairs = engine.distinct(pairs.select(unit, *places))
        if most is not None:
            pairs = first_groups(engine, pairs, unit, places, most=most)
    # In the keys' own order: no engine's threads decide which draw is whose.
    return engine.groups(pairs.group_by(*places).agg(nw.len().alias(LENGTH)).sort(*places))


def _plan(
    context: QueryContext, query: GroupCount, mechanism: UnknownKeys, missing: LeftOut, said: str
) -> Plan:
    most = query.max_groups
    cut = f", each in at most {many(most or 1, 'group')}" if query.truncated else ""
    kinds, units = " or ".join(sorted(query.counted or ("all",))), missing.units
    # Cutting units down only lowers counts.
    ended = mechanism.width is not None and not query.truncated and mechanism.key_delta is not None
    certain = ("lower", "upper") if ended else ("lower",)
    return priced(
        context,
        mechanism,
        context.policy.shifts(query),
        about=f"About {kinds} {units}{cut}; a group that is not listed may have {units}.{said}",
        scope=missing.scope(certain),
        certain=certain,
        standard_deviation=mechanism.variance**0.5,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys(PreparedQuery[Secret, Release]):
    """Keeps the found keys as bytes: of text and of moments the ledger has no columns."""

    def pack(self, answer: Answer) -> Packed:
        """The found keys and their counts, column by column."""
        found: Found = answer["found"]
        parts = {name: packed(column) for name, column in found.items()}
        kinds = {name: kind for name, (kind, _) in parts.items()}
        return {"kinds": kinds}, {name: raw for name, (_, raw) in parts.items()}

    def unpack(self, packed: Packed) -> Answer:
        """The same."""
        kinds: Any = packed[0]["kinds"]
        return {"found": {name: unpacked(kinds[name], raw) for name, raw in packed[1].items()}}


def _cut(query: GroupCount, context: QueryContext, plan: Plan, missing: LeftOut) -> str:
    """What is said first where somebody's groups may have been left out."""
    if not query.truncated or context.unit is None:
        return ""
    return (
        f"{missing.counted} in more than {many(query.max_groups or 1, 'group')} were counted in "
        f"{query.max_groups} of them: lower bounds hold for "
        f"{plan.guarantee.scope or 'the data as they are'}, estimates are about data that may have "
        "been cut."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ngrams:
    """How many open units have each n-gram in their trajectory, and which n-grams are there?

    A trajectory is the rows of one unit in ``order``; rows of equal order follow each other by the
    value of ``by``, so that it does not matter how the table is sorted. Every row is a step, rows
    that are repeated too; rows without an order are left out. An n-gram is ``n`` consecutive steps;
    one with a null in it is left out.
    A unit is counted once in each n-gram that it has, in at most ``max_groups`` of them.
    by: the column of steps, such as places. order: column or columns of time.
    n: how many steps. The answer has the key columns ``{by}_1`` to ``{by}_{n}``.
    delta: as in :class:`Discover`, where a move replaces, adds or removes whole units. Where it
        drops a step, which makes neighbours of others, there is no such answer.
    The other arguments, the promise and the noise are those of :class:`Discover`.

    >>> import polars as pl, onesided as od
    >>> trips = pl.DataFrame({"person": [1, 1, 2, 2], "place": ["a", "b"] * 2, "hour": [8, 9] * 2})
    >>> trips = trips.with_columns(minor=False)
    >>> session = od.Session(trips, unit="person", policy=od.policy.sensitive("minor"), budget=1000)
    >>> session.ngrams(by="place", order="hour", n=2, epsilon=90, max_groups=2).labels
    [('a', 'b')]
    """

    epsilon: Number
    by: str
    order: str | Sequence[str]
    n: int
    delta: Number | None = None
    max_groups: int | None = None
    counted: Counted = None
    where: Condition = None
    unknown: IfUnknown = "recorded"
    threshold: int = 0
    id: str | None = None
    again: bool = False
    title: str = ""

    work: ClassVar = 6  # as many counts may take
    later: ClassVar = ("delta",)

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        order = nouns.column(self.order)
        return f"Number of {nouns.units} with a run of {self.n} in the order of {order}"

    def prepare(self, context: QueryContext) -> PreparedQuery[Secret, Release]:
        """Check and price the question. Looks at no row."""
        unit = context.unit
        if unit is None:
            raise ParameterError(
                "n-grams are of the rows of one unit, and this session's unit is the row.",
                hint="Give the session unit=, the column that says whose row it is.",
            )
        order = names_of(self.order, name="order")
        context.table.require(self.by, *order)
        steps = whole(self.n, name="n", least=1, most=MOST)
        names = tuple(f"{self.by}_{place}" for place in range(1, steps + 1))
        refuse_clashes((self.by, *order), unit)
        refuse_clashes(names, unit)
        if self.delta is not None and not all(part.of_kinds for part in context.policy.parts):
            raise UnprotectableError(
                f"Under the policy {context.policy.name!r} a unit may stay and have other steps, "
                "and so change n-grams beside what a move names.",
                hint="Leave delta= out, or take a policy about whole records, such as unbounded().",
            )
        kind = key_types(context, [self.by])[self.by]

        def keyed(rows: Lazy, taken: Taken, places: tuple[str, ...]) -> Pairs:
            by, *sequence = places
            rows = rows.filter(*(~nw.col(place).is_null() for place in sequence))
            told = tuple(f"onesided_step_{place}" for place in range(steps))
            return windows(_typed(rows, {by: kind}), str(taken.unit), by, sequence, told), told

        return search(
            self,
            context,
            (self.by, *order),
            types=dict.fromkeys(names, kind),
            keyed=keyed,
            what={"by": self.by, "order": list(order), "n": steps},
            rises=False,  # a step that is left out, or stands elsewhere, makes neighbours of others
            said=f" Rows without a value in {', '.join(order)} are no step.",
        )


def windows(rows: Lazy, unit: str, by: str, order: Sequence[str], names: Sequence[str]) -> Lazy:
    """The n-grams of each unit, one row each, in key columns ``names``."""
    sequence = list(dict.fromkeys((*order, by)))
    later = (
        nw.col(by).shift(-place).over(unit, order_by=sequence).alias(name)
        for place, name in enumerate(names[1:], start=1)
    )
    made = rows.select(unit, nw.col(by).alias(names[0]), *later)
    return made.filter(*(~nw.col(name).is_null() for name in names))
