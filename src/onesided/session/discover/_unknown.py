"""Counts by keys that nobody listed: which keys appear is part of the noisy answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np

from onesided._english import many
from onesided._numbers import Number, whole
from onesided.engine.kit import LENGTH, LOWER, Column, KeyCodes, Lazy, first_groups
from onesided.errors import KeysError, ParameterError
from onesided.mechanism import Interval, UnknownKeys
from onesided.mechanism.kit import open_kinds
from onesided.noise import IntArray, Noise
from onesided.policy import GroupCount, Policy
from onesided.session._context import QueryContext, Taken
from onesided.session._groups import kinds_of, names_of, refuse_clashes
from onesided.session._missing import LeftOut, Unknown, counted_where, left_out
from onesided.session._plan import Plan, priced
from onesided.session._question import Answer, Packed, PreparedQuery
from onesided.session._release import Release
from onesided.session.discover._found_keys import Found, listed, packed, published, taken, unpacked

Secret = nw.DataFrame[Any] | Mapping[str, IntArray]
KeyTypes = Mapping[str, nw.dtypes.DType]


@dataclass(frozen=True, slots=True, kw_only=True)
class Discover:
    """How many open units (rows, if that is the unit) are in each group, and in which groups?

    Nobody lists the groups. One is told only if its noisy count is above ``threshold``, and the
    noise is below the truth: so groups without anybody are never told, the numbers told are certain
    lower bounds, and memory grows with the groups that occur. Pure ε, no δ.
    epsilon: loss per unit of edge weight, in nats.
    by: grouping column or columns: whole numbers, text, categories, booleans, dates. A row in which
        one of them is null is in no group.
    max_groups: the most groups in which one unit is counted; the others of a unit are left out,
        in an order that depends on the groups' names alone. Lower bounds stay certain. The row is
        in one group.
    counted: the kinds of units to count; None is every kind that no move of the policy starts from,
        and others cannot be counted.
    where: SQL text that picks rows; a unit's kind is decided before.
    unknown: as in :class:`onesided.session.Grouped`.
    threshold: tell a group only if its noisy count is above this.
    id, again: as in :class:`onesided.session.Grouped`.
    Errors: UnprotectableError if a move of the policy lowers a count, as under presence.

    >>> import polars as pl, onesided as od
    >>> trips = pl.DataFrame(
    ...     {"person": [1, 1, 2, 2], "place": ["a", "b", "a", "b"], "hour": [8, 9, 8, 9],
    ...      "minor": [False, False, False, False]})
    >>> policy = od.policy.sensitive("minor")
    >>> session = od.Session(trips, unit="person", policy=policy, budget=1000)
    >>> session.discover(by="place", epsilon=90, max_groups=2).labels
    ['a', 'b']
    """

    epsilon: Number
    by: str | Sequence[str]
    max_groups: int | None = None
    counted: str | Sequence[str] | None = None
    where: object = None
    unknown: Unknown = "recorded"
    threshold: int = 0
    id: str | None = None
    again: bool = False

    def measure(self, units: str) -> str:
        """What the numbers are."""
        return f"Number of {units}, of keys found in the data"

    def prepare(self, context: QueryContext) -> PreparedQuery[Secret, KeysRelease]:
        """Check and price the question. Looks at no row."""
        by = names_of(self.by, name="by")
        if not by:
            raise ParameterError(
                "Without a grouping column there are no keys to find.",
                hint="Pass by=, or use count to count everything.",
            )
        context.table.require(*by)
        refuse_clashes(by, context.unit)
        chosen = counted_where(self.where, self.unknown)
        query = counted_query(context, self.counted, self.max_groups)
        types = key_types(context, by)

        def rows(taken: Taken) -> tuple[Lazy, tuple[str, ...]]:
            places = taken.at(by)
            found = taken.rows(places, where=chosen, counted=query.counted)
            return as_keys(found, dict(zip(places, types.values(), strict=True))), places

        return search(
            context,
            query,
            mechanism_for(context, query, self.epsilon, self.threshold),
            types=types,
            columns=context.using(*by, where=chosen, counted=query.counted),
            rows=rows,
            what={"by": list(by), "where": chosen.text if chosen else ""},
            missing=left_out(context, by, self.where, self.unknown),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KeysRelease(Release):
    """The groups that were found, largest first, then by name. Everything here is public.

    lower: for each, a certain lower bound on its units. What is not listed is not said to be
    absent.

    >>> import polars as pl, onesided as od
    >>> trips = pl.DataFrame(
    ...     {"person": [1, 1, 2, 2], "place": ["a", "b", "a", "b"], "hour": [8, 9, 8, 9],
    ...      "minor": [False, False, False, False]})
    >>> policy = od.policy.sensitive("minor")
    >>> session = od.Session(trips, unit="person", policy=policy, budget=1000)
    >>> release = session.discover(by="place", epsilon=90, max_groups=2)
    >>> len(release), release.lower.tolist(), release.interval.lower_certain
    (2, [2, 2], True)
    """

    lower: IntArray
    mechanism: UnknownKeys
    _found: Found = field(compare=False)
    _as_callers: Callable[[Mapping[str, Column]], Any] = field(compare=False)

    @property
    def summary(self) -> str:
        """What was found, in a few words."""
        return f"{many(len(self), 'group')} found by their noisy counts."

    @property
    def interval(self) -> Interval:
        """The certain lower bounds; nothing is said above."""
        top = np.full(self.lower.shape, np.inf)
        return Interval(self.lower, top, True, False)  # noqa: FBT003

    @property
    def labels(self) -> list[Any]:
        """The groups."""
        rows = list(zip(*map(listed, self._keys.values()), strict=True))
        return [row[0] for row in rows] if len(self._keys) == 1 else rows

    def columns(self) -> dict[str, list[Any]]:
        """The keys, then estimate, lower, lower_certain."""
        keys = {name: listed(column) for name, column in self._keys.items()}
        numbers = {"estimate": self.estimate.tolist(), "lower": self.lower.tolist()}
        return {**keys, **numbers, "lower_certain": [True] * len(self)}

    @property
    def estimate(self) -> IntArray:
        """The lower bounds plus the noise's median; too small for groups just above the edge."""
        median = -int(self.mechanism.distribution.median())
        return np.asarray(self.lower + median)

    @property
    def frame(self) -> Any:
        """A table of the caller's own type: the keys, then estimate, lower, lower_certain."""
        certain = np.ones(self.lower.size, dtype=bool)
        told = {"estimate": self.estimate, LOWER: self.lower, "lower_certain": certain}
        return self._as_callers({**self._keys, **told})

    def at_least(self, threshold: int) -> Any:
        """The groups that certainly have so many units, in a table of the caller's own type."""
        least = whole(threshold, name="threshold", least=1)
        enough = np.flatnonzero(self.lower >= least)
        return self._as_callers({name: taken(c, enough) for name, c in self._keys.items()})

    @property
    def _keys(self) -> Mapping[str, Column]:
        return {name: column for name, column in self._found.items() if name != LOWER}

    def __len__(self) -> int:
        return int(self.lower.size)


def mechanism_for(
    context: QueryContext, query: GroupCount, epsilon: Number, threshold: int
) -> UnknownKeys:
    """The least noise for these counts. Errors: UnprotectableError if one of them may fall."""
    return UnknownKeys.for_policy(
        context.policy,
        epsilon=epsilon,
        max_groups=query.max_groups,
        counted=query.counted,
        truncated=query.truncated,
        threshold=threshold,
    )


def search(
    context: QueryContext,
    query: GroupCount,
    mechanism: UnknownKeys,
    *,
    types: KeyTypes,
    columns: tuple[str, ...],
    rows: Callable[[Taken], tuple[Lazy, tuple[str, ...]]],
    what: Mapping[str, object],
    missing: LeftOut,
    said: str = "",
) -> PreparedQuery[Secret, KeysRelease]:
    """The question in its steps; ``rows`` gives the unit and the key columns.

    said: what else the answer is about.
    """
    names, codes = list(types), KeyCodes.of(types, context.table.engine)
    plan = _plan(context, query, mechanism, missing, said)

    def draw(found: Secret, noise: Noise | None) -> Answer:
        told = mechanism.release(np.asarray(found[LENGTH], dtype=np.int64), noise=noise)
        kept = codes.published(found, told) if codes else published(found, names, told)
        return {"found": kept}

    def result(answer: Answer, entry: int | None) -> KeysRelease:
        found: Found = answer["found"]
        return KeysRelease(
            lower=np.asarray(found[LOWER], dtype=np.int64),
            mechanism=mechanism,
            guarantee=plan.guarantee,
            entry=entry,
            cut=f"{missing.sentence(plan.certain)} {_cut(query, context, plan)}".strip(),
            _found=found,
            _as_callers=lambda columns: context.table.engine.answer(columns, types),
        )

    return _Keys(
        detail={
            "unit": context.unit_name,
            "counted": sorted(query.counted or ()),
            "max_groups": str(query.max_groups or ""),
            **what,
        },
        plan=plan,
        context=context,
        columns=columns,
        look=lambda taken: _counts(taken, rows, codes, most=query.max_groups or 1),
        draw=draw,
        result=result,
    )


def counted_query(
    context: QueryContext, counted: str | Sequence[str] | None, max_groups: int | None
) -> GroupCount:
    """Which kinds are counted, and in how many groups a unit may be."""
    kinds = kinds_of(counted, context.policy) if counted is not None else _open(context.policy)
    if context.unit is None or context.policy.single_valued:
        if max_groups not in (None, 1):
            raise ParameterError(
                f"max_groups={max_groups} has no meaning here: each unit is in one group.",
                hint="Leave max_groups out, or give the session unit=.",
            )
        return GroupCount(max_groups=1, counted=kinds, truncated=context.unit is not None)
    if max_groups is None:
        # A policy under which nothing can be found is refused as that.
        mechanism_for(context, GroupCount(max_groups=1, counted=kinds, truncated=True), 1, 0)
        raise ParameterError(
            f"How many groups of one {context.unit!r} should the noise cover?",
            hint="Pass max_groups=, from public knowledge such as the rules of a register; "
            "others are counted in so many of theirs.",
        )
    most = whole(max_groups, name="max_groups", least=1)
    return GroupCount(max_groups=most, counted=kinds, truncated=True)


def _open(policy: Policy) -> frozenset[str] | None:
    """The open kinds that the table can tell; None if there is one kind, or none is open."""
    told = {rule.kind for rule in policy.rules} | {policy.default_kind}
    return (frozenset(open_kinds(policy)) & told or None) if policy.rules else None


def key_types(context: QueryContext, names: Sequence[str]) -> KeyTypes:
    """The types in which columns are told. Errors: KeysError; DataError for collated text."""
    context.refuse_collated(*names)
    return {name: _key_type(name, context.schema[name]) for name in names}


def _key_type(name: str, dtype: nw.dtypes.DType) -> nw.dtypes.DType:
    """The type in which a column is told. Errors: KeysError for one that cannot be grouped by.

    Categories become text: their own order may be that in which the data had them.
    """
    if isinstance(dtype, nw.Categorical | nw.Enum):
        return nw.String()
    zoned = isinstance(dtype, nw.Datetime) and dtype.time_zone is not None
    plain = dtype.is_integer() or isinstance(dtype, nw.String | nw.Boolean | nw.Date | nw.Datetime)
    if plain and not zoned and not isinstance(dtype, nw.UInt128 | nw.Int128):
        return dtype
    raise KeysError(
        f"Column {name!r} holds {dtype}, whose keys cannot be found.",
        hint="Group by whole numbers, text, categories, booleans or dates; cast moments with a "
        "time zone to UTC without one.",
        column=name,
    )


def as_keys(rows: Lazy, types: KeyTypes) -> Lazy:
    """Rows whose key columns have these types; rows without a key are left out."""
    schema = rows.collect_schema()
    casts = [nw.col(name).cast(dtype) for name, dtype in types.items() if schema[name] != dtype]
    kept = rows.with_columns(*casts) if casts else rows
    return kept.filter(*(~nw.col(name).is_null() for name in types))


def _counts(
    taken: Taken,
    rows: Callable[[Taken], tuple[Lazy, tuple[str, ...]]],
    codes: KeyCodes | None,
    *,
    most: int,
) -> Secret:
    """Units per key that occurs. Secret, as are the keys."""
    (pairs, places), engine, unit = rows(taken), taken.table.engine, taken.unit
    if codes is not None:
        inside = replace(codes, types=dict(zip(places, codes.types.values(), strict=True)))
        return inside.counts(pairs, unit=unit, most=most)
    if unit is not None:
        pairs = engine.distinct(pairs.select(unit, *places))
        pairs = first_groups(engine, pairs, unit, places, most=most)
    # In the keys' own order: no engine's threads decide which draw is whose.
    return engine.groups(pairs.group_by(*places).agg(nw.len().alias(LENGTH)).sort(*places))


def _plan(
    context: QueryContext, query: GroupCount, mechanism: UnknownKeys, missing: LeftOut, said: str
) -> Plan:
    most = query.max_groups
    cut = f", each in at most {many(most or 1, 'group')}" if query.truncated else ""
    kinds = " or ".join(sorted(query.counted or ("all",)))
    return priced(
        context,
        mechanism,
        context.policy.shifts(query),
        about=f"About {kinds} units{cut}; a group that is not listed may have units.{said}",
        scope=missing.scope(("lower",)),
        certain=("lower",),
        standard_deviation=float(mechanism.distribution.variance() ** 0.5),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys(PreparedQuery[Secret, KeysRelease]):
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


def _cut(query: GroupCount, context: QueryContext, plan: Plan) -> str:
    """What is said first where somebody's groups may have been left out."""
    if not query.truncated or context.unit is None:
        return ""
    return (
        f"Units in more than {many(query.max_groups or 1, 'group')} were counted in "
        f"{query.max_groups} of them: lower bounds hold for "
        f"{plan.guarantee.scope or 'the data as they are'}, estimates are about data that may have "
        "been cut."
    )
