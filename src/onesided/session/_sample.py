"""Real rows of open units, the one answer that is not a number, and streams of such samples."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import narwhals as nw
import numpy as np

from onesided._english import many
from onesided._numbers import Number, quantity, rough, text
from onesided.engine import Table
from onesided.engine.kit import KIND, Cut, Draw, Samples, Snapshot, look
from onesided.errors import DataError, LedgerError, ParameterError
from onesided.ledger import Entry
from onesided.mechanism import PersistentSample
from onesided.mechanism.kit import KEY_BYTES, KeyedCoins, samples_for
from onesided.policy import Policy
from onesided.session._chart import over_time
from onesided.session._context import QueryContext
from onesided.session._plan import Plan, promised, tellable
from onesided.session._question import Answer, Packed, PreparedQuery
from onesided.session._release import Release
from onesided.session._statement import Nouns
from onesided.show import Dots, RoleTable, Shape
from onesided.store import canonical, plain_text

if TYPE_CHECKING:
    from onesided.session._stream_file import Head


_EMPTY: Final = "Few units are open, or ε is small: noisy counts say more."
_FIRST: Final = "These are the first rows; .frame has all."
_VALUE: Final = "onesided_value"
_SQUARE: Final = "onesided_square"
# In days since 1970 or each other: from the first that Python has to before the first it has not.
_MOMENTS: Final = (-719_162, 2_932_897)
_FAR_APART: Final = (-999_999_999, 999_999_999)
_NANO: Final = 1000  # in a microsecond, the finest that Python has
_LONG: Final = 64
_PARTS: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # of a second
_DAY: Final = 86_400


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
    stream: names a sample that is told month after month. Units enter it by one coin each, kinds
        are as it first met them, and who is open no more leaves for good. It is charged when it is
        opened; each further call tells the next month and charges nothing. Its key lies in a file
        beside the ledger; without it the stream has ended.
    attrition: the chance of each kept unit to leave for good in each month, such as "1/50", which
        hides that one is open no more: all months together lose ``max(ε, -ln attrition)``. Without
        it such a change is seen for certain.
    Errors: UnprotectableError if the policy protects every record; BudgetExceededError; DataError
    for rows without a unit; ParameterError and LedgerError for a stream that cannot go on. All
    columns are taken before the charge; should the machine fail while rows are cut out, the charge
    stands.

    >>> import polars as pl, onesided as od
    >>> trips = pl.DataFrame({"person": [1, 1, 2, 2], "minor": [False] * 4})
    >>> session = od.Session(trips, unit="person", policy=od.policy.sensitive("minor"), budget=1000)
    >>> session.sample(epsilon=90).frame.height
    4
    """

    epsilon: Number
    id: str | None = None
    again: bool = False
    title: str = ""
    stream: str | None = None
    attrition: Number | None = None

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        if self.stream is None:
            return f"True records of open {nouns.units}"
        seen = ", which hides no change of kind" if self.attrition is None else ""
        return f"True records of open {nouns.units}, in the stream {self.stream!r}{seen}"

    def prepare(self, context: QueryContext) -> PreparedQuery[Draw, SampleRelease]:
        """Check and price the question. Looks at no row."""
        if context.table.step is not None:
            raise DataError(
                "No records are sampled from a table that was joined with another or made of "
                "units.",
                hint="Sample first: the sample is your own table, to join and to add up.",
            )
        samples = tellable(samples_for(context.policy, epsilon=self.epsilon), context.policy)
        if self.stream is None and self.attrition is not None:
            raise ParameterError(
                "attrition= is of a stream, and this sample is told once.",
                hint='Name the stream: stream="opt-in-2026".',
            )
        stream = None
        if self.stream is not None:
            sample = PersistentSample.of(context.policy, samples, self.attrition)
            stream = stream_of(context, self.stream, sample)
        plan = _plan(context, samples, stream)

        def result(answer: Answer, entry: int | None) -> SampleRelease:
            cut: Cut = answer["cut"]
            kept = sum(cut.units.values())
            return SampleRelease(
                rows=cut.frame,
                samples=samples,
                units=cut.units,
                policy=context.policy,
                unit=context.unit,
                guarantee=plan.guarantee,
                entry=entry,
                summary=f"Records of {kept:,} {context.nouns[kept != 1]}.",
                month=None if stream is None else stream.month,
                attrition=None if stream is None else stream.sample.attrition,
            )

        kinds = {kind: one.keep_text for kind, one in samples.items()}
        keeping = None if stream is None else stream.keep
        return _Unkept(
            detail={"kinds": kinds, **({} if stream is None else {STREAM: stream.detail})},
            plan=plan,
            context=context,
            columns=context.using(),
            look=lambda _: look(context.records(), samples, keeping),
            draw=lambda cut, noise: {"cut": cut(noise)},
            result=result,
            asserts=None if stream is None else lambda _: None,  # it is never charged unread
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unkept(PreparedQuery[Draw, "SampleRelease"]):
    """In place of rows, the ledger keeps how many units were published."""

    def read(self) -> Draw:
        """Take a snapshot of all columns, which is held until the rows are cut. Secret."""
        return self.look(None)  # type: ignore[arg-type] # it takes a snapshot of its own

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
    >>> trips = pl.DataFrame({"person": [1, 1, 2, 2], "minor": [False] * 4})
    >>> session = od.Session(trips, unit="person", policy=od.policy.sensitive("minor"), budget=1000)
    >>> print(session.sample(epsilon=90).total())
    About 2 over all units that are open (standard error 0). It says nothing of protected units:
    how many there are and what they add is not estimated.
    """

    estimate: float
    standard_error: float
    kinds: tuple[str, ...]
    least: int | None = None
    missing: int = 0
    scope: str = ""

    def __str__(self) -> str:
        gaps = f" {many(self.missing, 'row')} without a value left out." if self.missing else ""
        return (
            f"About {quantity(self.estimate)} over all units that are {' or '.join(self.kinds)}"
            f"{self.scope} (standard error {rough(self.standard_error)}).{gaps} It says "
            "nothing of protected units: how many there are and what they add is not estimated."
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SampleRelease(Release):
    """True records. All of it is public; save it, the ledger does not.

    frame: the rows in the caller's own frame type, held in memory even if lazy, in the table's
    order. samples: per open kind, the mechanism that kept or dropped its units. units: how many
    units of each were kept. month, attrition: of a stream, which month of it these are.

    >>> import polars as pl, onesided as od
    >>> trips = pl.DataFrame({"person": [1, 1, 2, 2], "minor": [False] * 4})
    >>> session = od.Session(trips, unit="person", policy=od.policy.sensitive("minor"), budget=1000)
    >>> release = session.sample(epsilon=90)
    >>> release.total().least
    2
    """

    rows: Any = field(compare=False)
    samples: Samples
    units: Mapping[str, int]
    policy: Policy = field(repr=False)
    unit: str | None
    month: int | None = None
    attrition: Fraction | None = None
    kind: str = "SampleRelease"

    @property
    def frame(self) -> Any:
        """The rows."""
        return self.rows

    @property
    def table(self) -> RoleTable:
        """The rows, all of them read."""
        return _read(self.rows)

    @property
    def keep(self) -> Mapping[str, float]:
        """Per open kind the chance of a unit to be kept; ``keep_text`` of ``samples`` is exact.

        Of a stream's unit that was open each time it was met, to be kept until this month.
        """
        stays = float(1 - (self.attrition or 0)) ** ((self.month or 1) - 1)
        return {kind: sample.keep * stays for kind, sample in self.samples.items()}

    def total(self, column: str | None = None) -> Total:
        """The total of a column over all open units, or their number if ``column`` is None.

        Free of charge: it is computed from the published rows. Each kept unit stands for
        ``1 / keep`` of its kind. The standard error is that of the coins alone: over repeated
        samples of this table. Of a stream's month it is about those alone whom it may hold: open
        each time that it met them, and met in its first month where nobody enters later.
        Errors: UnknownColumnError; ParameterError for a column that has no numbers.
        """
        if self.month is not None and len(self.samples) > 1:
            raise ParameterError(
                "A stream with several open kinds has no totals: which of them a unit was of when "
                "it entered is not published.",
                hint="Give the policy one open kind, or take a sample without a stream.",
            )
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
            keep = self.keep[kind]
            estimate += total / keep
            variance += squares * (1 - keep) / keep**2
        unknown = any(self.units[kind] == 0 and keep < 1 for kind, keep in self.keep.items())
        return Total(
            estimate=estimate,
            standard_error=math.inf if unknown else math.sqrt(variance),
            kinds=tuple(self.samples),
            least=sum(self.units.values()) if column is None else None,
            missing=gaps,
            scope="" if self.month is None else " and were each time that the stream met them",
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

    def shape(self, *, positions: object = None, at_most: int | None = None) -> Shape:
        """Rows by day where there are dates, else kept units by kind."""
        if positions is not None or at_most is not None:
            raise ParameterError(
                "A sample is drawn over time, not on a map.",
                hint="Draw its frame: the rows are true and public.",
            )
        kinds = np.array([float(many) for many in self.units.values()])
        moments = (nw.Date, nw.Datetime)
        dated = [name for name, kind in _types(self.rows).items() if isinstance(kind, moments)]
        told = self.columns()
        days = {name: list(map(_day, told[name])) for name in dated}
        return over_time(days) or Dots(labels=list(self.units), estimate=kinds)

    def _first(self, rows: int) -> tuple[RoleTable, tuple[str, ...]]:
        """The first rows: how many there are need not be known."""
        found = _read(self.rows, rows + 1)
        some = (_FIRST,) if len(found) > rows else ()
        empty = () if any(self.units.values()) else (_EMPTY,)
        return found.part(range(min(rows, len(found)))), (*some, *empty)


def _read(rows: object, most: int | None = None) -> RoleTable:
    """Published rows, all or the first ones."""
    table, types = Table(rows), _types(rows)
    with table.source(list(table.engine.types), records=True) as held:
        found = (held.frame if most is None else held.frame.head(most)).collect()
        told = {}
        for name, place in held.names.items():
            column, kind = found[place], types[name]
            span = isinstance(kind, nw.Duration) and column.dtype.is_integer()
            told[name] = _listed(column.cast(kind) if span else column)
        return RoleTable.of(told, roles=dict.fromkeys(told, "row"))


def _types(rows: object) -> Mapping[str, nw.dtypes.DType]:
    """What the columns hold in the caller's own frame: engines hold durations as numbers."""
    return nw.from_native(rows).collect_schema()  # type: ignore[no-any-return, call-overload]


def _day(value: Any) -> Any:
    """The day of a moment, also of one that is told as text; as it is where Python has no such."""
    try:
        return dt.date.fromisoformat(str(value)[:10]) if isinstance(value, str) else value
    except ValueError:
        return value


def _listed(column: nw.Series[Any]) -> list[Any]:
    """A column's values; as text the moments and durations that Python has not, nested too.

    Polars stops the process' work where it meets one far from today, so it is asked for none.
    """
    dtype, held = column.dtype, column.to_native()
    if not column.implementation.is_polars():
        return [_of_arrow(one) for one in held]
    if isinstance(dtype, nw.Date | nw.Datetime | nw.Duration | nw.Time):
        # Moments and durations of Polars'.
        kind: Any = column.dtype
        date, span, time = (isinstance(kind, one) for one in (nw.Date, nw.Duration, nw.Time))
        unit = "D" if date else "ns" if time else kind.time_unit
        least, most = _FAR_APART if span or time else _MOMENTS
        zoned = isinstance(kind, nw.Datetime) and kind.time_zone is not None
        if zoned:
            least, most = least + 1, most - 1  # which day it is there
        units = 1 if date else _DAY * _PARTS[unit]
        step = _NANO if unit == "ns" else 1
        numbers = column.cast(nw.Int32() if date else nw.Int64()).to_list()
        has = [
            one is None or (least * units <= one < most * units and one % step == 0)
            for one in numbers
        ]
        values = iter(column.filter(has).to_list() if has else ())  # no mask has no values
        what = "duration" if span else "time64" if time else ""
        return [
            next(values) if one else _as_text(number, unit, what, zoned=zoned)
            for one, number in zip(has, numbers, strict=True)
        ]
    if isinstance(dtype, nw.Struct) and dtype.fields:
        parts = {one.name: _listed(column.struct.field(one.name)) for one in dtype.fields}
        rows = (dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True))
        gone = column.is_null().to_list()
        return [None if lost else row for lost, row in zip(gone, rows, strict=True)]
    if isinstance(dtype, nw.List | nw.Array):
        lists = (one if one is None else nw.from_native(one, series_only=True) for one in held)
        return [one if one is None else _listed(one) for one in lists]
    return column.to_list()


def _of_arrow(value: Any) -> Any:
    """One value of PyArrow's."""
    kind = value.type
    if not value.is_valid:
        return None
    if hasattr(kind, "item_type"):  # a map
        return [(_of_arrow(one[0]), _of_arrow(one[1])) for one in value.values]
    if kind.num_fields and hasattr(kind, "value_type"):
        return [_of_arrow(one) for one in value.values]
    if kind.num_fields:
        return {name: _of_arrow(part) for name, part in value.items()}
    fine = getattr(kind, "unit", None) == "ns"
    try:
        if not fine or value.value % _NANO == 0:
            told = value.as_py()  # of pandas' own where it is there, and the moment fine
            return getattr(told, "to_pydatetime", getattr(told, "to_pytimedelta", lambda: told))()
    except (OverflowError, ValueError):
        pass
    unit = getattr(kind, "unit", "ms" if kind.bit_width == _LONG else "D")
    what = next((one for one in ("duration", "time64") if str(kind).startswith(one)), "")
    return _as_text(value.value, unit, what, zoned=getattr(kind, "tz", None) is not None)


def _as_text(number: int, unit: Any, what: str, *, zoned: bool) -> str:
    """What Python has no value for: exact, with its unit; moments with a zone in UTC."""
    if what == "duration":
        return f"{number} {unit}"
    if unit == "D":
        return str(np.datetime64(number, unit))
    seconds, part = divmod(number, _PARTS[unit])
    day, second = divmod(seconds, _DAY)
    fraction = f".{part:0{len(str(_PARTS[unit])) - 1}}" if unit != "s" else ""
    time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}{fraction}"
    return time if what else f"{np.datetime64(day, 'D')} {time}{'+00:00' if zoned else ''}"


def _plan(context: QueryContext, samples: Samples, stream: Stream | None) -> Plan:
    """Each edge is charged for the one kind that it leads to; a stream once, when it is opened."""
    mechanism = PersistentSample(samples) if stream is None else stream.sample
    loss = mechanism.loss(context.policy)
    chances = ", ".join(f"{kind}: {one.keep_text}" for kind, one in samples.items())
    about = f"True records of open {context.nouns[1]}, whole or not at all; kept with probability "
    about += f"{chances}."
    if stream is not None:
        about = f"{about} {stream.about}"
    paid = stream is not None and stream.opened is not None
    return Plan(
        mechanism=samples if stream is None else mechanism,
        charge=dict.fromkeys(loss, Fraction(0)) if paid else loss,
        account=context.account,
        guarantee=promised(context, loss, about=about),
    )


STREAM: Final = "stream"  # in the detail of a charge


def seen_changes(charges: Iterable[Entry]) -> str:
    """What no total of these charges is about: changes of kind, in streams without attrition."""
    streams = [held for one in charges if isinstance(held := one.detail.get(STREAM), Mapping)]
    names = dict.fromkeys(repr(one["name"]) for one in streams if one.get("attrition") is None)
    if not names:
        return ""
    return (
        f" NOT protected by the stream {' or '.join(names)}, whatever its ε: whoever was told in "
        "it as open and is of another kind later is seen to be open no more."
    )


_LONGEST: Final = 100
_SAFE: Final = "Nothing was drawn and nothing was recorded."


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A stream as the question about one month finds it; opened: the entry that paid for all."""

    name: str
    place: Path
    sample: PersistentSample
    facts: str
    key: bytes = field(repr=False)
    month: int
    opened: int | None

    @property
    def detail(self) -> dict[str, object]:
        """The public facts that the ledger keeps of a month; of the key, a digest."""
        leaving = self.sample.attrition
        return {
            "name": self.name,
            "month": self.month,
            "attrition": None if leaving is None else text(leaving),
            "key": _digest(self.key),
        }

    @property
    def about(self) -> str:
        """What is promised, and what is not."""
        leaving = self.sample.attrition
        changes = (
            "A change of kind is NOT protected: whoever was in the sample and is gone is seen to "
            "be open no more."
            if leaving is None
            else f"Each unit also leaves for good with probability {text(leaving)} a month, which "
            "hides that one is open no more."
        )
        paid = "" if self.opened is None else f", paid for by entry {self.opened}"
        return (
            f"Month {self.month} of the stream {self.name!r}: the loss is of all months "
            f"together{paid}. {changes} Kinds are as the stream first met them."
        )

    def keep(
        self, units: Mapping[str, Sequence[Any]], others: Iterable[Any]
    ) -> dict[str, list[bool]]:
        """Which of the open units are told; what must be remembered is durable before it returns.

        units: by open kind. others: the table's units of other kinds; open ones may be among them.
        The order is: key, memory of the month, charge, rows. A process that is killed in between
        told nobody anything, and no coin falls in another way tomorrow.
        Errors: LedgerError where another process told this month.
        """
        from onesided.session._stream_file import Head, StreamFile  # noqa: PLC0415 - SQLAlchemy

        coins = KeyedCoins(self.key)
        marks = {kind: [coins.mark(_written(one)) for one in many] for kind, many in units.items()}
        kinds = dict.fromkeys((coins.mark(_written(one)) for one in others), "")
        kinds |= {mark: kind for kind, many in marks.items() for mark in many}

        def step(head: Head, inside: Mapping[bytes, bool]) -> Mapping[bytes, bool]:
            if head.key != self.key or head.month != self.month - 1:
                raise LedgerError(
                    f"The stream {self.name!r} was told by another process at the same time.",
                    hint=f"Ask again, which tells the month after. {_SAFE}",
                )
            return self.sample.step(inside, kinds, self.month, coins)

        if self.opened is None and not self.place.exists():
            StreamFile.make(self.place, Head(self.facts, self.key))
        inside = StreamFile.tell(self.place, step)
        shown = set(self.sample.shown(inside, kinds))
        return {kind: [mark in shown for mark in many] for kind, many in marks.items()}


def stream_of(context: QueryContext, name: str, sample: PersistentSample) -> Stream:
    """The stream, opened or to be opened. Looks at no row, and makes no file.

    Errors: ParameterError for what no stream can be of, or one opened with other terms;
    LedgerError where its file is gone, is another's, or is older than the ledger.
    """
    if not 0 < len(plain_text(name, name="stream")) <= _LONGEST:
        raise ParameterError(
            f"stream must have 1 to {_LONGEST} characters.", hint='Such as stream="opt-in-2026".'
        )
    place, facts = _place(context, name), _facts(context, sample)
    charged = (
        ()
        if context.ledger is None
        else context.ledger.entries(kind="spend", policy_id=context.policy.identity)
    )
    told = [
        (entry.number, held)
        for entry in charged
        if isinstance(held := entry.detail.get(STREAM), Mapping) and held.get("name") == name
    ]
    opened = told[0][0] if told else None
    if not place.exists():
        if told:
            raise LedgerError(
                f"The stream {name!r} has no key any more: {place} is gone.",
                hint="Restore it from a copy made after the last month; without it the stream has "
                f"ended, and another one has another name and price. {_SAFE}",
                stream=name,
            )
        key, month = secrets.token_bytes(KEY_BYTES), 1
    else:
        from onesided.session._stream_file import StreamFile  # noqa: PLC0415 - SQLAlchemy

        head = StreamFile.head_of(place)
        if head.facts != facts:
            raise ParameterError(
                f"The stream {name!r} was opened for another table, ε or attrition: {head.facts}.",
                hint=f"Ask with the same, which are not {facts}; or name another stream. {_SAFE}",
                stream=name,
            )
        key, month = head.key, head.month + 1
        last = max((int(str(held.get("month"))) for _, held in told), default=0)
        if any(held.get("key") != _digest(key) for _, held in told) or not month > last:
            raise LedgerError(
                f"{place} is older than the ledger, or another stream's: what it remembers of who "
                "left is not all that was told.",
                hint=f"Restore the copy made after month {last}, or name another stream. {_SAFE}",
                stream=name,
            )
    return Stream(
        name=name, place=place, sample=sample, facts=facts, key=key, month=month, opened=opened
    )


def _place(context: QueryContext, name: str) -> Path:
    """The file of a stream. Errors: ParameterError where there can be none."""
    unit = context.unit
    if unit is None:
        raise ParameterError(
            "A stream follows units through months, and each row is its own unit here.",
            hint='Name the column that says whose row it is: Session(..., unit="person").',
        )
    kind = context.schema[unit]
    if not kind.is_integer() and not isinstance(kind, nw.String):
        raise ParameterError(
            f"A stream's units are whole numbers or texts, and {unit!r} holds {kind}.",
            hint="Cast the column, in the same way each month.",
            column=unit,
        )
    beside = None if context.ledger is None else context.ledger.file
    if beside is None:
        raise ParameterError(
            "A stream's key lies in a file beside its ledger, and this ledger is in none.",
            hint='Give a ledger in a file: Session(..., ledger="ledger.db").',
        )
    told = hashlib.sha256(canonical([context.policy.identity, name]).encode()).hexdigest()
    return Path(f"{beside}.stream-{told[:16]}")


def _facts(context: QueryContext, sample: PersistentSample) -> str:
    """What one key serves, as text: a table, a policy and the chances of one stream."""
    return canonical(
        {
            "policy": context.policy.identity,
            "unit": context.unit,
            # 7 and "7" are two names: with the other all would be met anew.
            "names": "text"
            if isinstance(context.schema[str(context.unit)], nw.String)
            else "number",
            "data": "" if context.declared is None else context.declared.name,
            "columns": sorted(context.schema),
            "rates": {kind: text(one.rate) for kind, one in sample.samples.items()},
            "attrition": None if sample.attrition is None else text(sample.attrition),
        }
    )


def _written(unit: Any) -> bytes:
    """A unit's name: its type and its text. Total for whole numbers and texts."""
    if isinstance(unit, str):
        return b"t" + unit.encode("utf-8", "surrogatepass")
    return b"n" + str(int(unit)).encode()


def _digest(key: bytes) -> str:
    return hashlib.blake2b(b"", key=key, person=b"commitment", digest_size=16).hexdigest()
