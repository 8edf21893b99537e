"""Schemas: columns, unit and noun, as TOML both ways, in words, and as proposals."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import tomli_w

from onesided._numbers import text as number_text
from onesided._numbers import whole
from onesided.errors import OnesidedError, ParameterError, SchemaError
from onesided.fields import Field, Fields, inside, of, read, settle, shortened
from onesided.schema._column import (
    ENCODINGS,
    FORMS,
    MISSING_UNIT,
    UNREADABLE,
    Column,
    Written,
    column,
    one_of,
    plain,
    shown,
    words_of,
    wrong,
)
from onesided.schema._reading import Reading, reading_of
from onesided.store import canonical, first_bytes, plain_text, toml_document

# Schemas as TOML, both ways; what is wrong in one is told with its line.

LONGEST: Final = 500_000
TABLE: Final = (
    "unit", "missing", "unreadable", "missing_unit", "noun", "encoding", "max_rows", "name",
    "cohort",
)  # said of the whole table  # fmt: skip
# Written where they are given: the identities of schemas without them stay.
_READ: Final = ("missing", "unreadable", "required", *FORMS)
# Words for people, which are no part of the identity.
_WORDED: Final = ("about", "measured_in")
_FIELDS: Final = ("type", "bounds", "step", "keys", *_WORDED, *_READ)
_HINT: Final = (
    'Write unit = "person" and, for each column, [columns.NAME] with type = "text"; docs/schema.md '
    "shows all."
)


@contextmanager
def parsed(text: object) -> Iterator[tuple[dict[str, Any], dict[str, Column]]]:
    """What it says of the table, and columns. Errors, inside too: SchemaError with the line."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise SchemaError(
            f"A schema in TOML must be text of at most {LONGEST:,} characters, got "
            f"{shortened(text)}.",
            hint="Read a file with onesided.Schema.read(path).",
        )
    with toml_document(
        text, what="schema", hint=_HINT, error=SchemaError, number=Written
    ) as document:
        try:
            facts = read(_SCHEMA, document, what="a schema")
            columns = facts.pop("columns", {})
            yield facts, {name: _column(name, columns[name]) for name in columns}
        except SchemaError as error:
            column = error.values.get("column")
            raise (inside(error, "columns", column) if isinstance(column, str) else error) from None


def _column(name: str, facts: object) -> Column:
    what = f"the column {shortened(name)}"
    try:
        given = read(_COLUMN, facts, what=what)
        if "type" not in given:
            raise SchemaError(f"{what} has no type.", hint='Write type = "text".')
        return column(**given)
    except OnesidedError as error:
        reason = error.reason if what in error.reason else f"{what}: {error.reason}"
        raise SchemaError(reason, hint=error.hint, **{**error.values, "column": name}) from None


def _unit(value: object, *, name: str) -> str:
    if isinstance(value, str) and not isinstance(value, Written):
        return value
    raise SchemaError(f"{name} is {shortened(value)}, not text.", hint=_HINT)


def _given(value: object, *, name: str) -> Any:  # noqa: ARG001 - what columns read by themselves
    return value


_COLUMN: Final[Fields] = {name: Field(_given, default=None) for name in _FIELDS}
_SCHEMA: Final[Fields] = {
    **{name: Field(_given, default=None) for name in TABLE},
    "unit": Field(_unit, default=None),
    "columns": Field(of("a table", dict), default=None, example='{age = {type = "integer"}}'),
}


def written(facts: Mapping[str, Any], columns: Mapping[str, Column], *, told: bool = True) -> str:
    """A table's facts and columns as TOML. told: with what they are about."""
    document = {name: _listed(value) for name, value in facts.items()}
    if columns:
        document["columns"] = {name: _facts(one, told=told) for name, one in columns.items()}
    return tomli_w.dumps(document)


def _facts(one: Column, *, told: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"type": one.type}
    if one.bounds is not None:
        found["bounds"] = [_plain(end) for end in one.bounds]
    if one.step is not None:
        found["step"] = _plain(one.step)
    if one.keys is not None:
        keys = one.keys
        found["keys"] = keys if isinstance(keys, str) else [_plain(key) for key in keys]
    if told:
        found |= {name: getattr(one, name) for name in _WORDED if getattr(one, name)}
    given = {name: getattr(one, name) for name in _READ}
    return found | {n: _listed(value) for n, value in given.items() if value not in (None, False)}


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _plain(value: object) -> object:
    """A value that TOML has, exactly: what is no whole number is text."""
    if isinstance(value, Fraction):
        whole = value.denominator == 1 and -(2**63) <= value < 2**63
        return int(value) if whole else number_text(value)
    if isinstance(value, dt.datetime) and value.year < 1000:
        return value.isoformat()  # of four digits, which TOML asks for
    return value


# A schema in plain words.

_LISTED = 8


def sentences(schema: Schema) -> Iterator[str]:
    """What it says, a line for the unit and one for each column."""
    unit, columns = schema.unit, schema.columns
    if schema.name:
        yield f"The table is called {schema.name!r}."
    if unit is None:
        yield "The schema names no unit: the session says whose row it is."
    else:
        called = f", called {' or '.join(map(repr, schema.noun))}" if schema.noun else ""
        yield (
            f"Each value of {unit!r} is one unit{called}: whom a policy protects, with all their "
            "rows."
        )
    for name, one in columns.items():
        unit = f" ({one.measured_in})" if one.measured_in else ""
        yield f"{name}{unit}: {one.type}{''.join(_more(one))}."
    if schema.cohort is not None:
        named = schema.cohort if isinstance(schema.cohort, str) else schema.cohort["column"]
        yield f"A ledger has a budget for each date in {named!r}, which is public."
    if columns:
        yield "Text is read strictly as these types, row by row."
        yield "A table with text that cannot be read so is refused, unless it counts as missing."
    if schema.missing:
        yield f"No value: {', '.join(map(repr, schema.missing))}."
    if schema.caveat:
        yield schema.caveat
    if any(one.bounds for one in columns.values()):
        yield "Bounds are public knowledge: a sum or mean clips each value to them."
    yield "Columns that are not listed are used as they come."


def _more(one: Column) -> Iterator[str]:
    if one.bounds is not None:
        yield f" from {shown(one.bounds[0])} to {shown(one.bounds[1])}"
    if one.step is not None:
        yield f" in steps of {shown(one.step)}" if one.step != Fraction(1) else " in steps of 1"
    if isinstance(one.keys, str):
        yield f"; its public keys stand in {one.keys!r}"
    elif one.keys is not None:
        first = ", ".join(map(shown, one.keys[:_LISTED]))
        more = f" and {len(one.keys) - _LISTED:,} more" if len(one.keys) > _LISTED else ""
        number = len(one.keys)
        yield f"; {number:,} public {'key' if number == 1 else 'keys'}: {first}{more}"
    for form in FORMS:
        given = getattr(one, form)
        if given is not None:
            told = ", ".join(map(repr, given)) if isinstance(given, tuple) else repr(given)
            yield f"; {form}: {told}"
    if one.missing:
        yield f"; no value: {', '.join(map(repr, one.missing))}"
    if one.required:
        yield "; never missing"
    if one.about:
        yield f" ({one.about})"


# Forms that people's files have, to be proposed where a column's text is of exactly one.

_MARKS: Final = (None, ".", ",", "'", "\u2019", " ", "\u00a0", "\u202f")
_WORDS: Final = ("ja nein", "yes no", "oui non", "si no", "y n", "j n", "t f", "wahr falsch")
_DATES: Final = (
    "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d",
)  # fmt: skip
_CLOCKS: Final = ("%H:%M", "%H:%M:%S")


def proposals(kind: str) -> Iterator[dict[str, Any]]:
    """Forms of this type, fewer declarations first.

    >>> next(proposals("number"))
    {'decimal': ','}
    """
    if kind in ("integer", "number"):
        points = (None, ",") if kind == "number" else ("",)
        for mark, point in product(_MARKS, points):
            found = {"decimal": point or None, "thousands": mark}
            if any(found.values()) and mark != ("." if point is None else point):
                yield {name: one for name, one in found.items() if one is not None}
    elif kind == "boolean":
        for pair in _WORDS:
            for change in (str.lower, str.title, str.upper):
                true, false = change(pair).split()
                yield {"true": (true,), "false": (false,)}
    elif kind in ("date", "datetime"):
        clocks = ("",) if kind == "date" else (f" {clock}" for clock in _CLOCKS)
        yield from ({"date": f"{form}{clock}"} for clock in clocks for form in _DATES)


# Public facts about a table as one value: declared by the curator, never inferred from rows.

MOST_COLUMNS = 10_000
_LONGEST_NAME = 1_000
_LONGEST_CALLED = 100
_MOST_ROWS = 2**20
_COHORT = frozenset({"column", "schedule", "ends", "max_cohorts", "complete"})
# What they say stands in each question, or changes no answer.
_UNTOLD = ("noun", "max_rows", "name", "cohort")


@dataclass(frozen=True, eq=False)
class Schema:
    """Public facts about a table, declared and never inferred from rows.

    unit: the column that says whose row it is; None leaves that to the session.
    columns: what is known of each, by name; columns that are not listed are used as they come.
    folder: where the files of keys are, beside the schema; no part of its identity.
    missing, unreadable: what holds of columns that do not say it themselves; see :class:`Column`.
    missing_unit: "refuse" refuses a table with rows of nobody, "drop" leaves these rows out.
    encoding: of files of text, one of "utf-8", "utf-16", "cp1252" and "latin-1"; None is UTF-8.
    noun: what one unit and several are called, such as ("person", "people").
    max_rows: the most rows of one unit that questions about rows count in a group; None: they say.
    name: what statements call the table, such as "visits of 2026"; None: nothing.
    cohort: the column of a public date by which a ledger parts its budget, or a mapping with what
        :class:`onesided.Calendar` takes; None: it does not.

    >>> import onesided as od
    >>> schema = od.Schema(unit="person", columns={"age": od.column("integer", bounds=(0, 110))})
    >>> schema
    Schema(unit 'person'; age: integer)
    >>> od.Schema.from_toml(schema.to_toml()) == schema
    True
    """

    unit: str | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    folder: Path | None = None
    missing: tuple[str, ...] | None = None
    unreadable: str | None = None
    missing_unit: str | None = None
    noun: tuple[str, str] | None = None
    encoding: str | None = None
    max_rows: int | None = None
    name: str | None = None
    cohort: str | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.unit is not None:
            _require_name(self.unit, "unit")
        if not isinstance(self.columns, Mapping) or len(self.columns) > MOST_COLUMNS:
            raise SchemaError(
                f"columns must be a mapping of at most {MOST_COLUMNS:,} names, got "
                f"{shortened(self.columns)}.",
                hint='Write columns={"age": onesided.column("integer")}.',
                key="columns",
            )
        seen: dict[str, str] = {}
        for name, one in self.columns.items():
            _require_name(name, "columns")
            if not isinstance(one, Column):
                raise SchemaError(
                    f"The column {shortened(name)} is {shortened(one)}.",
                    hint='Declare it with onesided.column("integer").',
                    column=name,
                )
            if seen.setdefault(name.lower(), name) != name:
                raise SchemaError(
                    f"The columns {shortened(seen[name.lower()])} and {shortened(name)} differ in "
                    "capitals alone.",
                    hint="Rename one: engines ignore capitals in names.",
                    column=name,
                )
        folder = None if self.folder is None else Path(self.folder)
        settle(
            self,
            columns=MappingProxyType(dict(self.columns)),
            folder=folder,
            missing=words_of(self.missing, "missing"),
            unreadable=one_of(self.unreadable, UNREADABLE, "unreadable"),
            noun=_pair(self.noun),
            missing_unit=one_of(self.missing_unit, MISSING_UNIT, "missing_unit"),
            encoding=one_of(self.encoding, ENCODINGS, "encoding"),
            max_rows=_rows(self.max_rows),
            name=_called(self.name),
        )
        if self.cohort is not None:
            given = self.cohort
            facts = dict(given) if isinstance(given, Mapping) else {"column": given}
            if not facts.keys() <= _COHORT or not isinstance(facts.get("column"), str):
                raise wrong(
                    f"cohort is {shortened(given)}.",
                    'Write cohort = "day", or a table [cohort] with column, schedule, ends, '
                    "max_cohorts and complete.",
                    "cohort",
                )
            name = str(facts["column"])
            _require_name(name, "cohort")
            held = self.columns.get(name)
            if held is None or held.type != "date":
                raise wrong(
                    f"cohort is {shortened(name)}, which is not declared as a date.",
                    f'Write [columns.{name}] with type = "date".',
                    "cohort",
                )
            settle(self, cohort=facts if isinstance(given, Mapping) else given)

    @classmethod
    def from_toml(cls, text: str, *, folder: str | os.PathLike[str] | None = None) -> Schema:
        """Read a schema that ``to_toml`` wrote, or that someone wrote by hand.

        folder: where the files of keys that it names are.
        Errors: SchemaError naming the line.
        """
        with parsed(text) as (facts, columns):
            return cls(columns=columns, folder=None if folder is None else Path(folder), **facts)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """The schema in a file. Errors: SchemaError naming the line, or why it cannot be read."""
        file = Path(path)
        try:
            data = first_bytes(file, LONGEST + 1)
            return cls.from_toml(_decoded(data), folder=file.resolve().parent)
        except OSError as error:
            raise SchemaError(
                f"Cannot read the schema {str(path)!r}: {error.strerror or error}.",
                hint="Name a TOML file; docs/schema.md shows one.",
            ) from error
        except SchemaError as error:
            raise SchemaError(
                f"{str(path)!r} is no schema that can be read. {error.reason}",
                hint=error.hint,
                **error.values,
            ) from None

    def to_toml(self) -> str:
        """The same as text that :meth:`from_toml` reads back."""
        return written(self._facts, self.columns)

    @cached_property
    def identity(self) -> str:
        """SHA-256 over all that it declares of rows, but not over words for people."""
        facts = written(
            {name: fact for name, fact in self._facts.items() if name not in _UNTOLD},
            {name: self.columns[name] for name in sorted(self.columns)},
            told=False,
        )
        return hashlib.sha256(canonical(facts).encode()).hexdigest()

    @property
    def _facts(self) -> dict[str, object]:
        """What it says of the whole table, as far as it says anything."""
        facts = {name: getattr(self, name) for name in TABLE}
        return {name: value for name, value in facts.items() if value is not None}

    def reading(self, name: str) -> Reading:
        """How the text of a declared column is read."""
        one = self.columns[name]
        missing = one.missing if one.missing is not None else self.missing
        forms = {form: getattr(one, form) for form in FORMS}
        return reading_of(one.type, missing=missing or (), **forms)

    def refuses_unreadable(self, name: str) -> bool:
        """Whether text of a declared column that is not of its type refuses the table."""
        return (self.columns[name].unreadable or self.unreadable) != "missing"

    @cached_property
    def caveat(self) -> str:
        """What must be said of every answer about a table that is read so; "" if nothing."""
        named = [repr(n) for n, one in self.columns.items() if one.unreadable == "missing"]
        said = []
        if self.unreadable == "missing":
            said.append("Values that could not be read as declared count as missing.")
        elif named:
            said.append(
                f"Values of {', '.join(named)} that could not be read as declared count as missing."
            )
        if self.missing_unit == "drop":
            said.append(f"Rows without a value of {self.unit or 'the unit'!r} were left out.")
        return " ".join(said)

    def explain(self) -> str:
        """The schema in plain words."""
        return "\n".join(sentences(self))

    def unit_of(self, asked: str | None) -> str | None:
        """The unit that it states, or the one that was asked for. Errors: ParameterError."""
        if None not in (asked, self.unit) and asked != self.unit:
            raise ParameterError(
                f"unit={shortened(asked)} is not the schema's unit, {shortened(self.unit)}.",
                hint="Leave unit out, or correct the schema.",
                unit=asked,
            )
        return self.unit if asked is None else asked

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return (self._facts, self.columns) == (other._facts, other.columns)

    def __hash__(self) -> int:
        return hash(self.identity)

    def __repr__(self) -> str:
        names = list(self.columns)
        listed = [f"{name}: {self.columns[name].type}" for name in names[:8]]
        more = [f"{len(names) - 8:,} more"] if len(names) > 8 else []
        return f"Schema(unit {self.unit!r}; {', '.join([*listed, *more]) or 'no columns'})"

    def __reduce__(self) -> tuple[object, ...]:
        facts = [getattr(self, name) for name in TABLE if name != "unit"]
        return Schema, (self.unit, dict(self.columns), self.folder, *facts)


def _rows(given: object) -> int | None:
    if given is None:
        return None
    try:
        return whole(given, name="max_rows", least=1, most=_MOST_ROWS)
    except ParameterError as error:
        raise wrong(error.reason, "Write max_rows = 4, for example.", "max_rows") from None


def _called(given: object) -> str | None:
    if given is None:
        return None
    said = plain(given, "name", empty=False)
    if len(said) > _LONGEST_CALLED or not said.isprintable():
        raise wrong(
            f"name is {shortened(said)}.",
            f"Write at most {_LONGEST_CALLED} characters on one line.",
            "name",
        )
    return said


def _pair(given: object) -> tuple[str, str] | None:
    if given is None:
        return None
    words = list(given) if isinstance(given, list | tuple) else []
    if len(words) != 2 or not all(isinstance(word, str) for word in words):
        raise wrong(f"noun is {shortened(given)}.", 'Write noun = ["person", "people"].', "noun")
    one, several = (plain(word, "noun", empty=False) for word in words)
    return one, several


def _require_name(name: object, key: str) -> None:
    try:
        plain_text(name, name=key, empty=False)
    except ParameterError:
        raise SchemaError(
            f"{key} has {shortened(name)}, which is no name of a column.",
            hint="Give text that is not empty, without NUL.",
            key=key,
        ) from None
    if len(str(name)) > _LONGEST_NAME:
        raise SchemaError(
            f"{key} has a name of {len(str(name)):,} characters, {shortened(name)}.",
            hint=f"Names have at most {_LONGEST_NAME:,} characters.",
            key=key,
        )


def _decoded(data: bytes) -> str:
    if len(data) > LONGEST:
        raise SchemaError(
            f"It is larger than {LONGEST:,} bytes.",
            hint="Put long lists of keys into a .parquet file and name that.",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SchemaError(
            f"It is not UTF-8: byte 0x{data[error.start]:02X} at position {error.start:,} (line "
            f"{line:,}) does not belong there.",
            hint="Save it as UTF-8.",
            line=line,
        ) from None


def schema_of(given: object) -> Schema | None:
    """A schema as it is given: itself, the name of a file, or none. Errors: SchemaError.

    >>> schema_of(Schema(unit="person")).unit
    'person'
    """
    if given is None or isinstance(given, Schema):
        return given
    if isinstance(given, str | os.PathLike):
        return Schema.read(given)
    raise SchemaError(
        f"schema must be a Schema or the name of a file, got {shortened(given)}.",
        hint='Write onesided.Schema.read("visits.schema.toml"), or make one of its parts.',
    )
