"""What a session gives to a question: its policy, its unit, its table, and what is left."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

import narwhals as nw

from onesided._english import one_line
from onesided.engine import PublicKeys, Table, public_keys
from onesided.engine.kit import (
    BEFORE,
    Lazy,
    Snapshot,
    of_kinds,
    other_table,
    refuse_floats,
    require_fit,
    require_held,
    require_households,
    require_view,
    rule_of,
)
from onesided.errors import DataError, ParameterError, PolicyError
from onesided.ledger import Account, Ledger
from onesided.policy import Policy, Predicate
from onesided.schema import Schema

Source: TypeAlias = tuple[Snapshot, Snapshot | None]
_CHECKS: Final = 1  # rises when opening asks more of rows


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """A session as its questions see it.

    Preparing a question may look at the policy, the unit, the columns' types and what is left to
    spend, all of them public. Rows are looked at by :meth:`PreparedQuery.read` alone, in a
    snapshot of the columns that the question uses: nothing here has any.
    binned: columns of bins, each with the column whose missing values are in none of them; None
    where a missing value refuses the question. spelled: whether conditions and kinds count as they
    were written, as they once did for stored answers, and not by what they say.
    """

    policy: Policy
    unit: str | None
    table: Table
    account: Account
    declared: Schema | None = None
    marks: Table | None = None
    ledger: Ledger | None = None
    binned: Mapping[str, str | None] = field(default_factory=dict)
    spelled: bool = False
    _keys: dict[tuple[int, tuple[str, ...]], tuple[object, PublicKeys]] = field(
        default_factory=dict, repr=False
    )

    def keys(self, given: object, by: tuple[str, ...]) -> PublicKeys:
        """The public keys of a question, read once for as long as it is asked.

        A column beside the keys that the data have, too, is left out: it may say what rows say.
        Errors: as :func:`onesided.engine.public_keys`.
        """
        if not by:
            return PublicKeys.of((), ((),))
        place = (id(given), by)
        if place not in self._keys:
            # What was given is kept, so that nothing else can come by its id.
            found = public_keys(given, by)
            told = found.beside.apart_from(self.schema)
            self._keys[place] = (given, replace(found, beside=told))
        return self._keys[place][1]

    @property
    def schema(self) -> Mapping[str, nw.dtypes.DType]:
        """The types of the table's columns."""
        return self.table.schema

    @property
    def filled(self) -> dict[str, str]:
        """Columns of the caller's own in which conditions see a value in every row: what it is."""
        found = {name: kind for name, kind in self._required.items() if self.table.owns(name)}
        kind = "" if self.unit is None else _kind_of(self.table.engine.types[self.unit])
        return {**found, str(self.unit): kind} if kind else found

    @property
    def _required(self) -> dict[str, str]:
        """The caller's own columns that the schema requires, with what conditions see in them."""
        types = self.table.engine.types
        columns = {} if self.declared is None else self.declared.columns
        kinds = {n: _kind_of(types[n]) for n, c in columns.items() if c.required and n in types}
        return {name: kind for name, kind in kinds.items() if kind}

    def names_values(self, column: str) -> bool:
        """Whether the policy may name what a column of the caller's own holds, texts or numbers."""
        named = self.policy.single_valued or self.policy.between_values
        own = self.table.owns(column) and not self.binned
        return named and own and _kind_of(self.schema[column]) in ("text", "integer")

    def made_of(self, columns: AbstractSet[str]) -> frozenset[str] | None:
        """The caller's own columns that decide these; None for others, or where no price asks."""
        if not self.policy.reads_columns:
            return None
        table = self.table
        if self.binned and table.step is not None:  # bins are of their own columns alone
            columns = (columns - self.binned.keys()) | {*table.step.needs}
            table = table.step.before
        return frozenset(columns) if all(map(table.owns, columns)) else None

    def alone(self, *columns: str) -> bool:
        """Whether a policy of values that names no column can be about no other one than these.

        Another one of texts, or of numbers, may be what it is about; a schema may have left it out.
        """
        texts = {_kind_of(self.schema[column]) == "text" for column in columns}
        alike = ({"text"} if True in texts else set()) | (
            {"integer", "number", ""} if False in texts else set()
        )
        others = self.schema.keys() - {*columns, self.unit}
        beside = any(_kind_of(self.schema[name]) in alike for name in others)
        return self.declared is None and not beside

    def sees(self, column: str) -> str:
        """What conditions see in a column; "" where they may see no value though there is one."""
        return _kind_of(self.schema[column])

    def as_it_stands(self, column: str) -> bool:
        """Whether a column is of texts that no schema reads as others, or as missing."""
        return self.sees(column) == "text" and column not in self.table.engine.readings

    def noun_of(self, by: Iterable[str]) -> str:
        """What sentences call a group by these columns."""
        return "bin" if self.binned.keys() & {*by} else "group"

    @property
    def row_each(self) -> bool:
        """Whether each unit has one row of the table: it is the row, or rows were made of units."""
        step = self.table.step
        step = step.before.step if self.binned and step is not None else step
        return self.unit is None or (step is not None and step.thins is not None)

    def thinned(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Which columns were made of rows of which some may have had no value."""
        return tuple(n for n in dict.fromkeys(columns) if self.table.thins(n, self._required))

    @property
    def caveat(self) -> str:
        """What must be said of every answer, for how the table was read; "" if nothing."""
        said = "" if self.declared is None else self.declared.caveat
        if self.table.dated is None:
            return said
        _, column, most = self.table.dated
        first = "first" if most == 1 else f"{most} first"
        return (
            f"{said} Of each {self.each} the rows of the {first} {column!r} alone count; what is "
            "certain is certain about these."
        ).strip()

    @property
    def nouns(self) -> tuple[str, str]:
        """What sentences call one unit and several: the schema's noun, or units."""
        noun = None if self.declared is None else self.declared.noun
        return ("unit", "units") if noun is None else (one_line(noun[0]), one_line(noun[1]))

    @property
    def each(self) -> str:
        """What sentences call each unit: the schema's noun, or the column that names it."""
        noun = None if self.declared is None else self.declared.noun
        return repr(self.unit) if noun is None else one_line(noun[0])

    @property
    def unit_name(self) -> str:
        """What a ledger calls the unit."""
        return "each row" if self.unit is None else self.unit

    def using(
        self, *columns: str, where: Predicate | None = None, counted: frozenset[str] | None = None
    ) -> tuple[str, ...]:
        """The columns that a question looks at: these, its condition's, and what tells kinds.

        Errors: those of a condition that these columns cannot answer; PolicyError for kinds that no
        rule of the policy tells apart.
        """
        if counted and not (self.policy.rules or self.policy.view):
            raise PolicyError(
                f"The policy '{self.policy.name}' has no conditions on rows, so the kinds "
                f"{', '.join(sorted(counted))} cannot be told apart in a table.",
                hint="Count everybody, or give the policy rules.",
            )
        found = [*([] if self.unit is None else [self.unit]), *columns]
        if where is not None:
            self.table.require_conditions([where])
            found += where.readable().columns
        if counted is not None:
            view = self.policy.view
            told = [one for rule in self.policy.rules for one in rule.predicates]
            if view is not None and self.marks is None and view.table is None:
                told.append(view.condition)
            found += [name for one in told for name in one.readable().columns]
            found += [] if view is None else [view.over]
        return tuple(dict.fromkeys(found))

    @contextmanager
    def source(
        self, columns: Sequence[str], *, records: bool = False, checked: bool = True
    ) -> Iterator[Source]:
        """A snapshot of the caller's own columns, and of the table that marks groups. Secret.

        Rows that may have changed since the table was opened are held to what was found then.
        checked: False takes them as they are. records: all columns, as for samples.
        Errors: DataError for rows that are not as declared.
        """
        known = self._known
        checked = checked and not known
        with ExitStack() as held:
            taking = self.table.source(columns, records=records, texts=checked)
            rows = held.enter_context(taking)
            marks, view = None, self.policy.view
            if self.marks is not None and view is not None:
                wanted = (view.over, *view.condition.readable().columns)
                marks = held.enter_context(self.marks.take(tuple(dict.fromkeys(wanted))))
            if known and not self._known:
                raise DataError(
                    "The files of the table changed while they were read.",
                    hint=f"Ask again once nobody writes to them. {BEFORE}",
                )
            if checked:
                require_held(rows, self.declared or Schema(), self.unit)
                if view is not None:
                    require_households(view, rows, marks, self.unit)
            yield rows.without_texts() if checked else rows, marks

    @property
    def fixed(self) -> bool:
        """Whether the rows never change, whatever becomes of where they came from."""
        return self.table.engine.fixed and (self.marks is None or self.marks.engine.fixed)

    @property
    def _known(self) -> bool:
        """Whether what was found of the rows when they were opened is true of them still."""
        return self.table.engine.same and (self.marks is None or self.marks.engine.same)

    def over(self, source: Source, columns: Sequence[str]) -> Taken:
        """What a question reads, of a snapshot that it may share with others."""
        rows, marks = source
        found = self.table.over(rows, columns)
        unit = None if self.unit is None else found.at(self.unit)
        return Taken(policy=self.policy, unit=unit, table=found, marks=marks)

    @contextmanager
    def taken(self, columns: Sequence[str], *, checked: bool = True) -> Iterator[Taken]:
        """A snapshot of these columns, which :meth:`using` told. Secret. As :meth:`source`."""
        with self.source(self.table.sources(columns), checked=checked) as source:
            yield self.over(source, columns)

    @contextmanager
    def records(self) -> Iterator[Taken]:
        """A snapshot of all columns as they are, for samples of true records. Secret."""
        self.table.engine.refuse_uncut()
        with self.source(list(self.table.engine.types), records=True) as (rows, _):
            unit = None if self.unit is None else rows.at(self.unit)
            yield Taken(policy=self.policy, unit=unit, table=rows, marks=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A session as the readers of its questions see it: a snapshot, in whose names all is said."""

    policy: Policy
    unit: str | None
    table: Snapshot
    marks: Snapshot | None

    @property
    def schema(self) -> Mapping[str, nw.dtypes.DType]:
        """The types of the snapshot's columns."""
        return self.table.schema

    def at(self, names: Sequence[str]) -> tuple[str, ...]:
        """What columns are called in the snapshot."""
        return tuple(map(self.table.at, names))

    def rows(
        self, columns: Sequence[str], *, where: Predicate | None, counted: frozenset[str] | None
    ) -> Lazy:
        """The rows to look at, reduced to the unit and ``columns``. Secret."""
        table, view = self.table, self.policy.view
        if counted is not None and view is not None:
            table = of_kinds(table, view, self.marks, unit=self.unit, counted=counted)
            counted = None
        return table.select(
            unit=self.unit,
            by=columns,
            where=where,
            rules=self.policy.rules,
            default=self.policy.default_kind,
            counted=counted,
        )

    def undecided_rows(self) -> int:
        """How many rows the policy's conditions could not decide, and count as protected."""
        view = self.policy.view
        if view is None:
            return self.table.undecided_rows(self.policy.rules)
        return (self.marks or self.table).undecided_rows([rule_of(view)])


def _kind_of(dtype: nw.dtypes.DType) -> str:
    """What conditions see in a column; "" where they may see no value though there is one.

    So of whole numbers beyond 38 digits, and moments finer or coarser than microseconds.
    """
    if isinstance(dtype, nw.Datetime):
        zone = "" if dtype.time_zone is None else " with zone"
        return f"datetime{zone}" if dtype.time_unit == "us" else ""
    if dtype.is_integer() and not isinstance(dtype, nw.Int128 | nw.UInt128):
        return "integer"
    if dtype.is_float():
        return "number"
    text = isinstance(dtype, nw.String | nw.Categorical | nw.Enum)
    plain = {nw.Boolean: "boolean", nw.Date: "date"}
    return "text" if text else plain.get(type(dtype), "")


def opened(
    data: object,
    policy: Policy,
    unit: str | None,
    declared: Schema | None,
    tables: Mapping[str, object] | None,
) -> tuple[Table, Table | None]:
    """The data, and the table that marks groups under a view, if it is another one.

    Errors: those of columns that the policy or the unit cannot be asked of; DataError for rows
    that are not as declared.
    """
    table = Table(data, declared=declared, unit=unit)
    if unit is not None:
        table.require(unit)
        table.refuse_collated(unit)
        refuse_floats(table, unit, "unit")
    table.require_conditions([one for rule in policy.rules for one in rule.predicates])
    marks = other_table(policy.view, tables)
    if policy.view is not None:
        require_view(policy.view, table, marks)
    schema = Schema() if declared is None else declared
    files, facts, known = (table.engine.files if marks is None else None), {}, False
    if files is not None:
        facts = {
            "checked": ["readable", "required", "unit", *(["groups"] if policy.view else [])],
            "version": [_CHECKS, version("onesided")],
            "schema": None if declared is None else declared.identity,
            "policy": policy.identity,
            "unit": unit,
            "columns": {name: str(dtype) for name, dtype in table.engine.types.items()},
            "refused": dict(table.engine.refused),
        }
        known = files.knows(facts)
    if not known:
        require_fit(table, schema, unit)
    if unit is not None and schema.missing_unit == "drop":
        table = table.of_somebody(unit)
    if policy.view is not None and not known:
        wanted = [policy.view.over, *([] if unit is None else [unit])]
        with ExitStack() as held:
            rows = held.enter_context(table.take(list(dict.fromkeys(wanted))))
            other = None if marks is None else held.enter_context(marks.take([policy.view.over]))
            require_households(policy.view, rows, other, unit)
    if files is not None and not known:
        files.learn(facts)
    return table, marks


def condition(given: object) -> Predicate | None:
    """``where`` as a condition. Errors: ConditionError for what is not in the language."""
    return None if given is None else Predicate.of(given)


# What an answer says of rows of which it is not known whether they count.


Unknown = Literal["possible", "recorded"]
RECORDED: Final = "what is recorded"
POSSIBLE: Final = "what is possible"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Rows of which it is not known whether they count: public facts, whatever the rows hold.

    keys: columns without a value in which a row is in no group. values: without a value in which
    it is left out. thinned: whether something was made per unit of rows that may have no value.
    where: a condition that may be unknown, or "". possible: whether rows count for which it is.
    passes: whether a CASE takes unknown for no. Where thinned or passes neither side is about the
    truth. gained, lost: whether units of an unknown kind may be counted among others, or not be.
    rises: whether more rows can only raise the answer. units: what these are called.
    """

    keys: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    thinned: bool = False
    where: str = ""
    possible: bool = False
    passes: bool = False
    gained: bool = False
    lost: bool = False
    rises: bool = True
    units: str = "units"

    @property
    def numbers_about(self) -> str:
        """Which numbers the answer is about, where some may have been cut."""
        of = self.about.removeprefix("About ").replace("the data as they are.", "")
        return f"About numbers that may have been cut{', of ' * bool(of)}{of or '.'}"

    @property
    def about(self) -> str:
        """Which data the answer is about."""
        if self.where and self.possible and not self.thinned:
            return "About the data as they may be."
        unsure = self.passes or self.thinned or self.gained or self.lost
        some = self.where or self.keys or self.values or unsure
        return f"About the data as {'recorded' if some else 'they are'}."

    def scope(self, certain: Sequence[str]) -> str:
        """What a certain bound is about; "" where each is about the truth."""
        return " and ".join(what for _, what in self._sides(certain))

    def numbers(self, certain: Sequence[str], words: str) -> str:
        """What a certain bound on numbers in a column is about. words: how they were cut."""
        scope = self.scope(certain)
        return f"{words.removesuffix('.')}{'; of ' * bool(scope)}{scope}"

    def sentence(self, certain: Sequence[str]) -> str:
        """What is said before any number, of certain sides; "" where all rows count or not."""
        said = []
        if self.where and self.possible:
            said.append(f"Counted where {self.where} is true or unknown.")
        elif self.where:
            said.append(
                f"Recorded as {self.where}: rows for which that is unknown are not counted."
            )
        if self.passes:
            said.append("A CASE in the condition takes what is missing for no.")
        if self.gained or self.lost:
            said.append(f"{self.counted} whose kind is unknown count as of the protected kind.")
        if self.thinned:
            said.append("What was made per unit leaves out values that are missing.")
        if self.keys:
            said.append(f"Rows without a value of {_either(self.keys)} are in no group.")
        said += [self.dropped] if self.values else []
        said += [f"A certain {side}bound is about {what}." for side, what in self._sides(certain)]
        return " ".join(said)

    @property
    def dropped(self) -> str:
        """Which rows are left out for a number that is missing; "" for none."""
        named = _either(self.values)
        return f"Rows without a value of {named} are left out." if named else ""

    @property
    def counted(self) -> str:
        """What units are called, at the start of a sentence."""
        return f"{self.units[:1].upper()}{self.units[1:]}"

    def _sides(self, certain: Sequence[str]) -> list[tuple[str, str]]:
        """Which certain bounds are not about the truth, and what they are about."""
        if self.passes or self.thinned:
            return [("", RECORDED)] * bool(certain)
        sides = []
        if self.where and not self.possible:
            sides.append(("upper", RECORDED))
        elif self.keys or self.values:
            named = _either(dict.fromkeys((*self.keys, *self.values)))
            sides.append(("upper", f"rows with a value of {named}"))
        if self.lost:
            sides.append(("upper", f"{self.units} known to be of the kinds counted"))
        if self.where and self.possible:
            sides.append(("lower", POSSIBLE))
        if self.gained:
            sides.append(("lower", f"{self.units} of the kinds counted or of unknown kind"))
        if not self.rises:
            return [("", what) for _, what in sides if certain]
        return [(f"{side} ", what) for side, what in sides if side in certain]


def sideless(words: str) -> str:
    """What :meth:`LeftOut.sentence` says, of numbers of which either side rests on either.

    >>> sideless("A certain upper bound is about what is recorded.")
    'A certain bound is about what is recorded.'
    """
    for side in ("upper", "lower"):
        words = words.replace(f"A certain {side} bound is about", "A certain bound is about")
    return words


def _either(names: Iterable[str]) -> str:
    return " or ".join(map(repr, names))


NOTHING: Final = LeftOut()


def respelled(said: str, where: str, text: str) -> str:
    """The same sentences of a condition that is spelled otherwise, with columns in order.

    >>> print(respelled("Recorded as a<5: rows without 'c' or 'b' ...", "a<5", '"a" < 5'))
    Recorded as "a" < 5: rows without 'b' or 'c' ...
    """
    for words in ("Recorded as ", "Counted where "):
        said = said.replace(f"{words}{where}", f"{words}{text}")
    return _NAMES.sub(lambda found: " or ".join(sorted(found[0].split(" or "))), said)


# Names of columns as sentences have them.
_NAMES: Final = re.compile(r"'[^']*'(?: or '[^']*')+")


def counted_where(where: object, unknown: Unknown) -> Predicate | None:
    """The condition of the rows that are counted. Errors: ParameterError; ConditionError."""
    if unknown not in get_args(Unknown):
        raise ParameterError(
            f"unknown={unknown!r} is no way to read a condition that is unknown.",
            hint='Write "possible" to count such rows, so that certain upper bounds are about the '
            'truth, or "recorded" to leave them out, so that certain lower bounds are.',
            value=unknown,
        )
    chosen = condition(where)
    return chosen if chosen is None or unknown == "recorded" else chosen.or_unknown()


def left_out(
    context: QueryContext,
    by: Sequence[str],
    where: object,
    unknown: Unknown,
    *,
    numbers: Mapping[str, str] = MappingProxyType({}),
    counted: Collection[str] | None = None,
    rises: bool = True,
) -> LeftOut:
    """What is not known of rows, from what the schema requires. Errors: ConditionError.

    numbers: columns of them, with what becomes of rows that are missing one. counted: the kinds.
    """
    chosen, filled = condition(where), context.filled
    unsure = chosen is not None and chosen.readable().may_be_unknown(filled)
    passes = chosen is not None and chosen.readable().passes_over(filled)
    named = dict.fromkeys(context.binned.get(name, name) for name in by)
    used = () if chosen is None else chosen.readable().columns
    gained, lost = _unsure_kinds(context, counted)
    return LeftOut(
        keys=tuple(n for n in named if n is not None and n not in filled),
        values=tuple(n for n, missing in numbers.items() if missing == "drop" and n not in filled),
        thinned=bool(context.thinned((*by, *numbers, *used))),
        where=chosen.text if chosen is not None and unsure else "",
        possible=unknown == "possible" and unsure,
        passes=passes,
        gained=gained,
        lost=lost,
        rises=rises,
        units=context.nouns[1],
    )


def _unsure_kinds(context: QueryContext, counted: Collection[str] | None) -> tuple[bool, bool]:
    """Whether units may be counted whose kind is unknown, and whether such may be left out.

    Where a rule is unknown for some row, the unit is taken to be of the rule's kind.
    """
    policy = context.policy
    if counted is None or set(policy.kinds) <= set(counted):
        return False, False
    rules = [*policy.rules, *([] if policy.view is None else [rule_of(policy.view)])]
    filled, unsure = context.filled, set()
    for rule in rules:
        read = [one.readable() for one in rule.predicates]
        if any(one.may_be_unknown(filled) or one.passes_over(filled) for one in read):
            unsure.add(rule.kind)
    return bool(unsure & set(counted)), bool(unsure - set(counted))
