"""The tree of a condition, its one canonical text, and what engines must have words for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias, TypeVar

from onesided.schema import DAY, Type, clock_text, date_text, moment_text

# Names and literals as canonical text.

_UNITS: Final = ((DAY, "DAY"), (3_600_000_000, "HOUR"), (60_000_000, "MINUTE"))


def quoted_text(text: str) -> str:
    """Text in single quotes."""
    return "'" + text.replace("'", "''") + "'"


def _interval(value: object) -> str:
    micros = int(str(value))
    for size, unit in _UNITS:
        if micros % size == 0:
            return f"INTERVAL '{micros // size}' {unit}"
    seconds = Decimal(micros).scaleb(-6)
    return f"INTERVAL '{seconds.normalize():f}' SECOND"


def _number(value: object) -> str:
    """Numbers keep a point or an exponent, so that they are not read as whole ones."""
    text = str(value)
    return text if any(sign in text for sign in ".eE") else f"{text}.0"


_WRITERS: Final[Mapping[str, Callable[[object], str]]] = MappingProxyType(
    {
        "text": lambda value: quoted_text(str(value)),
        "boolean": lambda value: "TRUE" if value else "FALSE",
        "integer": str,
        "number": _number,
        "date": lambda value: f"DATE '{date_text(int(str(value)))}'",
        "datetime": lambda value: f"TIMESTAMP '{moment_text(int(str(value)))}'",
        "datetime with zone": lambda value: f"TIMESTAMPTZ '{moment_text(int(str(value)))}Z'",
        "time": lambda value: f"TIME '{clock_text(int(str(value)))}'",
        "duration": _interval,
    }
)


# Conditions as a tree: a closed list of nodes, each frozen; ``str`` gives the canonical text.
#
# The parser makes them without types; :func:`~onesided.conditions.bind` makes a typed tree of the
# same nodes, in which both sides of each operation have one type. Nodes under "Only in typed trees"
# have no text of their own in the language.

UNBOUND: Final = Type("unbound")
Scalar: TypeAlias = str | bool | int | float | Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One operation. place: where it stands in the text, as an offset.

    >>> from onesided.conditions import Condition
    >>> tree = Condition.parse("age < 18 or vip").tree
    >>> len(tree.parts), str(tree.parts[0])
    (2, '"age" < 18')
    """

    type: Type = UNBOUND
    place: int = field(default=0, compare=False, repr=False)

    @property
    def parts(self) -> tuple[Node, ...]:
        """The nodes directly below, in the order of the fields that hold them."""
        return tuple(_held_in(tuple(getattr(self, one.name) for one in fields(self))))


def _held_in(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _held_in(one)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Node):
    """A value of the row."""

    name: str

    def __str__(self) -> str:
        return '"' + self.name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal(Node):
    """A value of the text, which has its type from the start; in typed trees None is unknown."""

    value: Scalar

    def __str__(self) -> str:
        return _WRITERS[str(self.type)](self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Node):
    """``left op right``; op is one of = <> < <= > >=."""

    op: str
    left: Node
    right: Node

    def __str__(self) -> str:
        return f"{_inner(self.left)} {self.op} {_inner(self.right)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Both(Node):
    """``op`` (AND, OR) of two or more conditions.

    >>> from onesided.conditions import Condition
    >>> tree = Condition.parse("age < 18 or vip or (staff and not away)").tree
    >>> tree.op, len(tree.members), tree.members[2].op
    ('OR', 3, 'AND')
    """

    op: str
    members: tuple[Node, ...]

    def __str__(self) -> str:
        return f" {self.op} ".join(
            f"({part})" if isinstance(part, Both) else str(part) for part in self.members
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Not(Node):
    """True where the part is false; unknown stays unknown."""

    part: Node

    def __str__(self) -> str:
        return f"NOT {_inner(self.part)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IsNull(Node):
    """Whether the part is unknown; never unknown itself."""

    part: Node

    def __str__(self) -> str:
        return f"{_inner(self.part)} IS NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf(Node):
    """Whether the part equals one of some literals, which are no nodes of their own."""

    part: Node
    values: tuple[Literal, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.part,)

    def __str__(self) -> str:
        return f"{_inner(self.part)} IN ({', '.join(map(str, self.values))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Between(Node):
    """``low <= part AND part <= high``. Not in typed trees."""

    part: Node
    low: Node
    high: Node

    def __str__(self) -> str:
        return f"{_inner(self.part)} BETWEEN {_inner(self.low)} AND {_inner(self.high)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Like(Node):
    """Text against a pattern: % any text, _ one code point, all else itself."""

    part: Node
    pattern: str

    def __str__(self) -> str:
        return f"{_inner(self.part)} LIKE {quoted_text(self.pattern)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Node):
    """The value beside the first condition that is true, else ``otherwise``, else unknown."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None

    def __str__(self) -> str:
        cases = "".join(f" WHEN {when} THEN {then}" for when, then in self.branches)
        end = "" if self.otherwise is None else f" ELSE {self.otherwise}"
        return f"CASE{cases}{end} END"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coalesce(Node):
    """The first part that is known."""

    members: tuple[Node, ...]

    def __str__(self) -> str:
        return f"COALESCE({', '.join(map(str, self.members))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic(Node):
    """``left op right``; op is one of + - * / %. Whole numbers are exact, and / truncates."""

    op: str
    left: Node
    right: Node

    def __str__(self) -> str:
        return f"{_inner(self.left)} {self.op} {_inner(self.right)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Node):
    """A function of one part: ABS LOWER UPPER LENGTH TRIM SUBSTRING, or EXTRACT by its unit.

    arguments: whole numbers of the text: SUBSTRING's start and length.
    """

    function: str
    part: Node
    arguments: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.function in UNITS:
            return f"EXTRACT({self.function} FROM {self.part})"
        return f"{self.function}({', '.join(map(str, (self.part, *self.arguments)))})"


# Only in typed trees.


@dataclass(frozen=True, slots=True, kw_only=True)
class Known(Node):
    """``value`` where the part is known, else unknown: a comparison that can find nothing."""

    part: Node
    value: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Convert(Node):
    """The part in this node's type: whole numbers as numbers, dates as midnights, finer moments."""

    part: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Later(Node):
    """A date some days later, or a moment some microseconds later; unknown beyond year 9999."""

    part: Node
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Given(Node):
    """One of the values of the :class:`Let` around it; a number is neither NaN nor infinite."""

    place_of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Let(Node):
    """``body`` of values that it uses more than once: it is made of them and of literals alone."""

    values: tuple[Node, ...]
    body: Node


UNITS: Final = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "ISODOW")
_WHOLE: Final = (Column, Call, Coalesce, Case)


def _inner(node: Node) -> str:
    """The text of a part of something else, in parentheses unless it cannot be misread."""
    if isinstance(node, _WHOLE):
        return str(node)
    if isinstance(node, Literal) and not str(node).startswith("-"):
        return str(node)
    return f"({node})"


def is_small(node: Node) -> bool:
    """Whether a node may be written several times: it is a column, or one step from columns."""
    if isinstance(node, Arithmetic | Call | Convert | Later):
        return not any(part.parts for part in node.parts)
    return isinstance(node, Column | Literal | Given)


def nodes(tree: Node) -> Iterator[Node]:
    """Every node of a tree, the root first."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.parts))


def columns(tree: Node) -> tuple[str, ...]:
    """The columns that a tree looks at, each once, in the order of the text.

    >>> from onesided.conditions import Condition
    >>> columns(Condition.parse("age < 18 or place = 'gym' or age > 90").tree)
    ('age', 'place')
    """
    return tuple(dict.fromkeys(node.name for node in nodes(tree) if isinstance(node, Column)))


# What an engine must say to have conditions translated: how it writes each operation.

E = TypeVar("E")


class Terms(Protocol[E]):
    """How an engine writes each operation. Null is unknown, in and out.

    Whole numbers come in three widths: a column's own, 64 bits, and *wide*: at least 38 digits.
    Moments in nanoseconds are whole numbers of 64 bits.

    repeats: the operations that write a part more than once, such as ``"whole"``: they are given
    parts that are small, or have names by ``named``, so that all that is written grows with the
    tree. ``named`` gives ``use`` names for parts, each written once; it makes no more of them
    inside, and uses none of the row.

    >>> import polars as pl
    >>> from onesided.engine.polars._condition import PolarsTerms
    >>> terms: Terms[pl.Expr] = PolarsTerms({"age": pl.Int64})
    >>> terms.is_null(pl.col("age")).meta.root_names()
    ['age']
    """

    repeats: frozenset[str]

    def named(self, parts: Sequence[E], use: Callable[..., E]) -> E: ...
    def column(self, name: str, kind: Type) -> E: ...
    def literal(self, value: Scalar, kind: Type) -> E: ...
    def compare(self, op: str, left: E, right: E) -> E: ...
    def between(self, part: E, low: E, high: E, closed: str) -> E: ...
    def both(self, op: str, parts: Sequence[E]) -> E: ...
    def negate(self, part: E) -> E: ...
    def is_null(self, part: E) -> E: ...
    def one_of(self, part: E, values: Sequence[Scalar], kind: Type) -> E: ...
    def like(self, part: E, pattern: str) -> E: ...
    def case(self, branches: Sequence[tuple[E, E]], otherwise: E | None, kind: Type) -> E: ...
    def coalesce(self, parts: Sequence[E]) -> E: ...
    def long(self, part: E) -> E: ...
    def wide(self, part: E) -> E: ...
    def number(self, part: E, *, wide: bool) -> E: ...
    def numbers(self, op: str, left: E, right: E) -> E: ...
    def whole(self, op: str, left: E, right: E, *, wide: bool, checked: bool) -> E: ...
    def divided(self, op: str, left: E, right: E, *, wide: bool, positive: bool) -> E: ...
    def non_zero(self, part: E, *, wide: bool) -> E: ...
    def absolute(self, part: E) -> E: ...
    def text(self, function: str, part: E, arguments: Sequence[int]) -> E: ...
    def extract(self, unit: str, part: E, kind: Type) -> E: ...
    def midnight(self, part: E, kind: Type) -> E: ...
    def finer(self, part: E, kind: Type) -> E: ...
    def later(self, part: E, amount: int, kind: Type) -> E: ...


def balanced(parts: Sequence[E], join: Callable[[E, E], E]) -> E:
    """All parts joined two by two, so that a long chain does not nest deep.

    >>> balanced(["a", "b", "c", "d"], "({} and {})".format)
    '((a and b) and (c and d))'
    """
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return join(balanced(parts[:middle], join), balanced(parts[middle:], join))
