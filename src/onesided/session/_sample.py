"""Real rows of open units: the one answer that is not a number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, NoReturn

import narwhals as nw
import numpy as np

from onesided._english import many
from onesided._numbers import Loss, Number
from onesided.engine import Table
from onesided.engine.kit import KIND, Cut, Draw, Samples, Snapshot, look
from onesided.errors import DataError, LedgerError, ParameterError, UnprotectableError
from onesided.mechanism.kit import samples_for
from onesided.noise import Noise
from onesided.policy import ABSENT, GroupCount, Policy
from onesided.session._chart import over_time
from onesided.session._context import QueryContext
from onesided.session._plan import Plan, promised
from onesided.session._question import Answer, Packed, PreparedQuery
from onesided.session._release import Release
from onesided.session._text import table
from onesided.show import Dots, Shape

_EMPTY: Final = "Few units are open, or ε is small: noisy counts say more."
_FEW: Final = 10  # rows that a notebook shows
_VALUE: Final = "onesided_value"
_SQUARE: Final = "onesided_square"
# In days since 1970 or each other: from the first that Python has to before the first it has not.
_MOMENTS: Final = (-719_162, 2_932_897)
_FAR_APART: Final = (-999_999_999, 999_999_999)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """True records of open units, each unit whole or not at all.

    A unit of an open kind is kept with probability ``1 - exp(-ε w)``, where w is the least weight
    of an edge into its kind, and with certainty if there is none; a protected unit never. A kind
    is open if no move of the policy starts from it.
    epsilon: loss per unit of edge weight, in nats.
    id: names the release in the ledger. The rows are *not* kept there: save them yourself.
        Asking again with the same id is refused, never drawn anew, whatever ``again`` says.
    A table in which everything is open is sampled like any other: publishing it whole *because*
    nobody turned out to be sensitive would tell that nobody is. If everything is protected the
    sample is empty; noisy counts say more.
    Errors: UnprotectableError if the policy protects every record; BudgetExceededError; DataError
    for rows without a unit. All columns are taken before the charge; should the machine fail while
    rows are cut out, the charge stands.

    >>> import polars as pl, onesided as od
    >>> trips = pl.DataFrame(
    ...     {"person": [1, 1, 2, 2], "place": ["a", "b", "a", "b"], "hour": [8, 9, 8, 9],
    ...      "minor": [False, False, False, False]})
    >>> policy = od.policy.sensitive("minor")
    >>> session = od.Session(trips, unit="person", policy=policy, budget=1000)
    >>> session.sample(epsilon=90).frame.height
    4
    """

    epsilon: Number
    id: str | None = None
    again: bool = False

    def measure(self, units: str) -> str:
        """What the numbers are."""
        return f"True records of open {units}"

    def prepare(self, context: QueryContext) -> PreparedQuery[Draw, SampleRelease]:
        """Check and price the question. Looks at no row."""
        if context.table.step is not None:
            raise DataError(
                "No records are sampled from a table that was joined with another or made of "
                "units.",
                hint="Sample first: the sample is your own table, to join and to add up.",
            )
        samples = _tellable(samples_for(context.policy, epsilon=self.epsilon), context.policy)
        plan = _plan(context, samples)

        def draw(cut: Draw, noise: Noise | None) -> Answer:
            found = cut(noise)
            return {"cut": found}

        def result(answer: Answer, entry: int | None) -> SampleRelease:
            cut: Cut = answer["cut"]
            return SampleRelease(
                rows=cut.frame,
                samples=samples,
                units=cut.units,
                policy=context.policy,
                unit=context.unit,
                guarantee=plan.guarantee,
                entry=entry,
            )

        return _Unkept(
            detail={"kinds": {kind: one.keep_text for kind, one in samples.items()}},
            plan=plan,
            context=context,
            columns=context.using(),
            look=lambda _: look(context.records(), samples),
            draw=draw,
            result=result,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unkept(PreparedQuery[Draw, "SampleRelease"]):
    """In place of rows, the ledger keeps how many units were published."""

    def read(self) -> Draw:
        """Take a snapshot of all columns, which is held until the rows are cut. Secret."""
        return look(self.context.records(), self.plan.mechanism)

    def pack(self, answer: Answer) -> Packed:
        """The rows are not kept."""
        cut: Cut = answer["cut"]
        return {"rows": "not kept", "units": dict(cut.units)}, {}

    def unpack(self, packed: Packed) -> NoReturn:
        """Nothing is there to be told. Errors: LedgerError."""
        raise LedgerError(
            "A sample was published under this id, and its rows are not kept in the ledger.",
            hint="Use the copy that you saved. Another id draws, and pays for, another sample; "
            "the two together publish more.",
            units=packed[0].get("units"),
        )


@dataclass(frozen=True, slots=True)
class Total:
    """A Horvitz-Thompson estimate from a sample: about open records alone.

    estimate: unbiased for the total over all units of open kinds. standard_error: of the estimate,
    from the sample itself; infinite where nothing was kept to tell it from. least: the total of
    what was published, a certain lower bound for counts; None for other totals. missing: rows
    without a value, left out.

    >>> import polars as pl, onesided as od
    >>> trips = pl.DataFrame(
    ...     {"person": [1, 1, 2, 2], "place": ["a", "b", "a", "b"], "hour": [8, 9, 8, 9],
    ...      "minor": [False, False, False, False]})
    >>> policy = od.policy.sensitive("minor")
    >>> session = od.Session(trips, unit="person", policy=policy, budget=1000)
    >>> print(session.sample(epsilon=90).total())
    About 2 over all units that are open (standard error 0). It says nothing of protected units:
    how many there are and what they add is not estimated.
    """

    estimate: float
    standard_error: float
    kinds: tuple[str, ...]
    least: int | None = None
    missing: int = 0

    def __str__(self) -> str:
        gaps = f" {many(self.missing, 'row')} without a value left out." if self.missing else ""
        return (
            f"About {self.estimate:,.6g} over all units that are {' or '.join(self.kinds)} "
            f"(standard error {self.standard_error:,.3g}).{gaps} It says nothing of protected "
            "units: how many there are and what they add is not estimated."
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SampleRelease(Release):
    """True records. All of it is public; save it, the ledger does not.

    frame: the rows in the caller's own frame type, held in memory even if lazy, in the table's
    order. samples: per open kind, the mechanism that kept or dropped its units. units: how many
    units of each were kept.

    >>> import polars as pl, onesided as od
    >>> trips = pl.DataFrame(
    ...     {"person": [1, 1, 2, 2], "place": ["a", "b", "a", "b"], "hour": [8, 9, 8, 9],
    ...      "minor": [False, False, False, False]})
    >>> policy = od.policy.sensitive("minor")
    >>> session = od.Session(trips, unit="person", policy=policy, budget=1000)
    >>> release = session.sample(epsilon=90)
    >>> release.total().least
    2
    """

    rows: Any = field(compare=False)
    samples: Samples
    units: Mapping[str, int]
    policy: Policy = field(repr=False)
    unit: str | None

    @property
    def summary(self) -> str:
        """What was found, in a few words."""
        return f"Records of {many(sum(self.units.values()), 'unit')}."

    @property
    def frame(self) -> Any:
        """The rows."""
        return self.rows

    def columns(self) -> dict[str, list[Any]]:
        """The rows, column by column."""
        return _read(self.rows)

    @property
    def keep(self) -> Mapping[str, float]:
        """Per open kind the chance of a unit to be kept; ``keep_text`` of ``samples`` is exact."""
        return {kind: sample.keep for kind, sample in self.samples.items()}

    def total(self, column: str | None = None) -> Total:
        """The total of a column over all open units, or their number if ``column`` is None.

        Free of charge: it is computed from the published rows. Each kept unit stands for
        ``1 / keep`` of its kind. The standard error is that of the coins alone: over repeated
        samples of this table.
        Errors: UnknownColumnError; ParameterError for a column that has no numbers.
        """
        table = Table(self.frame)
        predicates = [one for rule in self.policy.rules for one in rule.predicates]
        used = [name for one in predicates for name in one.readable().columns]
        if column is not None:
            table.require(column)
            dtype = table.schema[column]
            if not (dtype.is_numeric() or dtype == nw.Boolean):
                raise ParameterError(
                    f"Column {column!r} holds {dtype}, which has no total.",
                    hint="Give a column of numbers, or none for the number of units.",
                    column=column,
                )
        columns = [one for one in (column, self.unit) if one is not None]
        with table.take(list(dict.fromkeys([*columns, *used]))) as rows:
            sums = self._sums(rows, column)
            gaps = 0 if column is None else rows.null_rows(rows.at(column))
        estimate = variance = 0.0
        for kind, (total, squares) in sums.items():
            keep = self.samples[kind].keep
            estimate += total / keep
            variance += squares * (1 - keep) / keep**2
        unknown = any(self.units[k] == 0 and self.samples[k].keep < 1 for k in self.samples)
        return Total(
            estimate=estimate,
            standard_error=math.inf if unknown else math.sqrt(variance),
            kinds=tuple(self.samples),
            least=sum(self.units.values()) if column is None else None,
            missing=gaps,
        )

    def _sums(self, table: Snapshot, column: str | None) -> Mapping[str, tuple[float, float]]:
        """Per kind, the sum over kept units and the sum of squares."""
        if column is None:
            return {kind: (float(many), float(many)) for kind, many in self.units.items()}
        rules, default = self.policy.rules, self.policy.default_kind
        value = nw.col(table.at(column)).cast(nw.Float64()).alias(_VALUE)
        unit = None if self.unit is None else table.at(self.unit)
        # The kind of a published unit follows from its published rows, all of them.
        rows = table.with_kind(table.frame.with_columns(value), unit, rules, default)
        rows = rows.filter(~nw.col(_VALUE).is_null())
        if unit is not None:
            rows = rows.group_by(unit, KIND).agg(nw.col(_VALUE).sum())
        square = (nw.col(_VALUE) * nw.col(_VALUE)).alias(_SQUARE)
        sums = rows.with_columns(square).group_by(KIND)
        found = sums.agg(nw.col(_VALUE, _SQUARE).sum()).collect()
        columns = (found[name].to_list() for name in (KIND, _VALUE, _SQUARE))
        return {kind: (total, squares) for kind, total, squares in zip(*columns, strict=True)}

    @property
    def counted(self) -> str:
        """What a picture counts."""
        return "true records"

    def shape(self, *, positions: object = None) -> Shape:
        """Rows by day where there are dates, else kept units by kind."""
        if positions is not None:
            raise ParameterError(
                "A sample is drawn over time, not on a map.",
                hint="Draw its frame: the rows are true and public.",
            )
        kinds = np.array([float(many) for many in self.units.values()])
        return over_time(self.columns()) or Dots(labels=list(self.units), estimate=kinds)

    def _shown(self) -> dict[str, list[Any]]:
        return _read(self.rows, _FEW)

    def _table(self, rows: int) -> list[str]:
        empty = [] if any(self.units.values()) else [_EMPTY]
        return [*table(_read(self.rows, rows), rows=rows), *self._left_out(rows), *empty]

    def _left_out(self, rows: int = _FEW) -> tuple[str, ...]:
        """That these are not all rows, where they are not: how many there are need not be known."""
        more = any(len(column) > rows for column in _read(self.rows, rows + 1).values())
        return ("These are the first rows; .frame has all.",) if more else ()


def _read(rows: object, most: int | None = None) -> dict[str, list[Any]]:
    """Published rows, all or the first ones, column by column."""
    table = Table(rows)
    with table.source(list(table.engine.types), records=True) as held:
        found = (held.frame if most is None else held.frame.head(most)).collect()
        return {name: _listed(found[place]) for name, place in held.names.items()}


def _listed(column: nw.Series[Any]) -> list[Any]:
    """A column's values; as text what lies beyond Python's own moments and durations."""
    dtype = column.dtype
    if not isinstance(dtype, nw.Date | nw.Datetime | nw.Duration):
        return column.to_list()
    unit: Any = "D" if isinstance(dtype, nw.Date) else dtype.time_unit
    least, most = _FAR_APART if isinstance(dtype, nw.Duration) else _MOMENTS
    if isinstance(dtype, nw.Datetime) and dtype.time_zone:
        least, most = least + 1, most - 1  # which day it is there
    units = int(np.timedelta64(1, "D") / np.timedelta64(1, unit))
    numbers = column.cast(nw.Int32() if unit == "D" else nw.Int64()).to_list()
    near = [one is None or least * units <= one < most * units for one in numbers]
    if all(near):
        return column.to_list()
    told = np.timedelta64 if isinstance(dtype, nw.Duration) else np.datetime64
    values = iter(column.filter(near).to_list())
    return [
        next(values) if one else str(told(number, unit))
        for one, number in zip(near, numbers, strict=True)
    ]


def _tellable(samples: Samples, policy: Policy) -> Samples:
    """The open kinds that the rules of the policy can find in a table.

    Without rules nothing tells an open record from a protected one.
    """
    present = set(policy.kinds) - {ABSENT}
    if not policy.rules and len(present) > 1:
        raise UnprotectableError(
            f"No rule of the policy {policy.name!r} tells its kinds {', '.join(sorted(present))} "
            "apart in a table, so protected rows could be published.",
            hint="Say which rows are open: sensitive(...), tiers(...), or a policy with rules=.",
        )
    told = {rule.kind for rule in policy.rules} | {policy.default_kind}
    found = {kind: sample for kind, sample in samples.items() if kind in told}
    if not found:
        raise UnprotectableError(
            f"No rule of the policy {policy.name!r} makes a unit {' or '.join(samples)}, so every "
            "unit of a table is protected.",
            hint="Give the policy rules= or default= that name an open kind.",
        )
    return found


def _plan(context: QueryContext, samples: Samples) -> Plan:
    """Each edge is charged for the one kind that it leads to."""
    charge: dict[str, Loss] = {edge.name: Fraction(0) for edge in context.policy.edges}
    for kind, sample in samples.items():
        query = GroupCount(max_groups=1, counted=frozenset({kind}))
        for edge, worst in context.policy.shifts(query).items():
            charge[edge.name] += max(sample.loss(shift) for shift in worst)
    chances = ", ".join(f"{kind}: {one.keep_text}" for kind, one in samples.items())
    about = f"True records of open units, whole or not at all; kept with probability {chances}."
    return Plan(
        mechanism=samples,
        charge=charge,
        account=context.account,
        guarantee=promised(context, charge, about=about),
    )
