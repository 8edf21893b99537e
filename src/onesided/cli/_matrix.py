"""Every question under a policy: certain on a side, noise on both, or refused, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from itertools import product
from typing import Any, Final, NamedTuple

import duckdb
import tomli_w

from onesided import session as asks
from onesided.engine import Table
from onesided.engine.kit import quoted
from onesided.errors import ConditionError, DataError, OnesidedError, ParameterError
from onesided.mechanism import Counts
from onesided.policy import Policy, Predicate, families, from_toml
from onesided.session.kit import Asks

EXACT: Final = "exact"
LIKELY: Final = "likely"
NOISE: Final = "noise on both sides"
RECORDS: Final = "true records"
MADE: Final = "made-up rows"
REFUSED: Final = "refused"
_CERTAIN: Final = {
    ("upper",): "certain from above",
    ("lower",): "certain from below",
    ("lower", "upper"): "certain on both sides",
}
GIVES: Final = (EXACT, *_CERTAIN.values(), NOISE, LIKELY, RECORDS, MADE, REFUSED)
"""All that a question may give."""


class Reason(NamedTuple):
    """Why a question has no answer: what its error says, the reason, and where it is proved."""

    said: str
    words: str
    proof: str


REASONS: Final = (
    Reason(
        r"may have to pass as a larger one .*truncated count|lets counts rise under the policy",
        "a count, or one cut down to max_groups, may have to pass as a larger one, which a "
        "truncated count does not hide",
        "proofs/truncated.md",
    ),
    Reason(
        r"A key would then give it away",
        "a unit may have to pass as one that is not counted, and its key would give it away",
        "proofs/unknown-keys.md",
    ),
    Reason(
        r"nothing about other values of the same record",
        "the policy says which groups pass as which, and nothing of other values of a record",
        "proofs/sums.md",
    ),
    Reason(
        r"every record must be able to pass as another|protected rows could be published",
        "no record is known to be free of protection, so none can be published as it is",
        "proofs/record-sample.md",
    ),
    Reason(
        r"may stay and have other steps",
        "a move may drop one of a unit's steps, and so change n-grams that it does not name",
        "proofs/unknown-keys.md",
    ),
    Reason(
        r"only counts are priced for that",
        "one move may change the kind of several units, and only counts are priced for that",
        "proofs/views.md",
    ),
    Reason(
        r"Ranges under a graph need|sources do not have",
        "moves are between the policy's own values or places, and not along a line of numbers",
        "proofs/linear.md",
    ),
    Reason(
        r"kinds .*cannot be told apart",
        "the policy has no such kind of records that its conditions tell apart",
        "proofs/rates.md",
    ),
)
"""The closed list of reasons."""

_COLUMNS: Final = {
    "person": "BIGINT",
    "place": "VARCHAR",
    "household": "VARCHAR",
    "age": "BIGINT",
    "hour": "BIGINT",
    "pay": "BIGINT",
    "minor": "BOOLEAN",
}
_TYPES: Final = ("BIGINT", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "DOUBLE")
_TRIED: Final = 3
_OPEN: Final = "open"
_PAY: Final[Mapping[str, Any]] = {"bounds": (0, 100), "epsilon": 1}
_ENDLESS: Final = 10**9  # what is left is no question here


@dataclass(frozen=True, slots=True)
class Cell:
    """What a question gives under a policy; ``reason`` is why it is refused, else None."""

    question: str
    asked: Any
    gives: str
    reason: Reason | None = None
    error: str = ""

    @property
    def because(self) -> str:
        """The reason in words; the error's own where no reason of the list is meant."""
        return self.error if self.reason is None else self.reason.words


def column(policy: Policy) -> tuple[Cell, ...]:
    """Every question under this policy, planned over a made-up table without rows.

    Errors: OnesidedError for a policy whose conditions no such table fits.

    >>> from onesided.policy import addition_only
    >>> cells = {cell.question: cell.gives for cell in column(addition_only())}
    >>> cells["AtMost"], cells["AtLeast"], cells["Mean"]
    ('certain from above', 'likely', 'noise on both sides')
    """
    by, keys = _groups(policy)
    session = asks.Session(_table(policy, by), unit="person", policy=policy, budget=_ENDLESS)
    return tuple(_cell(session, name, one) for name, one in questions(policy, by, keys))


def questions(policy: Policy, by: str, keys: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """One of each question, by its name; counts and decisions of open records beside them."""
    own = policy.covers is not None or policy.single_valued
    most: dict[str, Any] = {} if own else {"max_groups": 1}
    group: dict[str, Any] = {"by": by, "keys": keys, "epsilon": 1}
    about = {**group, **most}
    yield "Count of all", asks.Count(epsilon=1)
    yield "Count", asks.Count(**about)
    free = [kind for kind in policy.kinds if kind.split(" & ")[-1] == _OPEN] or [_OPEN]
    yield "Count of open", asks.Count(**about, counted=free)
    yield "RowCount", asks.RowCount(**about, max_rows=2)
    yield "Histogram", asks.Histogram("pay", bins=10, **_PAY)
    yield "RangeQuery", asks.RangeQuery("pay", "prefixes", bins=10, **_PAY)
    yield "LinearQuery", asks.LinearQuery([[1] * len(keys)], **group)
    yield "CrossTable", asks.CrossTable(**group)
    yield "Sum", asks.Sum("pay", of="units", total_bounds=(0, 100), epsilon=1)
    yield "Mean", asks.Mean("pay", **_PAY)
    yield "Variance", asks.Variance("pay", **_PAY)
    yield "Quantile", asks.Quantile("pay", Fraction(1, 2), **_PAY)
    yield "TopK", asks.TopK(2, **about)
    yield "AtMost", asks.AtMost(5, **about)
    yield "AtLeast", asks.AtLeast(5, **about)
    yield "AtLeast of open", asks.AtLeast(5, **about, counted=free)
    yield "Above", asks.Above(5, **about, max_answers=1)
    yield "Below", asks.Below(5, **about, max_answers=1)
    yield "Enclosed", asks.Enclosed(**about, delta="1/1000")
    yield "Discover", asks.Discover(by=by, epsilon=1, **most)
    yield "Discover with δ", asks.Discover(by=by, epsilon=1, delta="1/1000", **most)
    steps: dict[str, Any] = {"by": by, "order": "hour", "n": 2, "epsilon": 1, **most}
    yield "Ngrams", asks.Ngrams(**steps)
    yield "Ngrams with δ", asks.Ngrams(**steps, delta="1/1000")
    yield "Sample", asks.Sample(epsilon=1)
    rows: dict[str, Any] = {"columns": [by], "keys": {by: keys}, "records": 100}
    yield "Synthetic", asks.Synthetic(**rows, epsilon=1)


def matrix() -> dict[str, tuple[Cell, ...]]:
    """The columns of every family of policies, each by its example.

    >>> "presence" in matrix()
    True
    """
    return {name: column(from_toml(example(name))) for name in families()}


def example(family: str) -> str:
    """The file of the family's example.

    >>> print(example("bounded"))
    onesided_policy = 1
    family = "bounded"
    <BLANKLINE>
    [parameters]
    <BLANKLINE>
    """
    shown = families()[family].example
    return tomli_w.dumps({"onesided_policy": 1, "family": family, "parameters": shown})


def sentences(policy: Policy) -> list[str]:
    """The column in sentences: what gives the same, together.

    >>> from onesided.policy import addition_only
    >>> sentences(addition_only())[1]
    'Certain from below: Discover with δ, Ngrams with δ.'
    """
    try:
        cells = column(policy)
    except OnesidedError as error:
        return [f"What questions give depends on the table. {error.reason}"]
    found: dict[str, list[str]] = {}
    for cell in sorted(cells, key=lambda one: GIVES.index(one.gives)):
        why = f", as {cell.because}" if cell.gives == REFUSED else ""
        found.setdefault(f"{cell.gives}{why}", []).append(cell.question)
    return [f"{gives.capitalize()}: {', '.join(names)}." for gives, names in found.items()]


def _cell(session: asks.Session, name: str, asked: Any) -> Cell:
    try:
        plan = session.plan(asked)
    except OnesidedError as error:
        found = [one for one in REASONS if re.search(one.said, error.reason)]
        return Cell(name, asked, REFUSED, found[0] if found else None, error.reason)
    if not any(plan.charge.values()):
        return Cell(name, asked, EXACT)
    if isinstance(asked, asks.Sample):
        return Cell(name, asked, RECORDS)
    if isinstance(asked, asks.Synthetic):
        return Cell(name, asked, MADE)
    if isinstance(asked, asks.Above) and isinstance(plan.mechanism, Counts):
        return Cell(name, asked, LIKELY)
    return Cell(name, asked, _CERTAIN.get(tuple(sorted(plan.certain)), NOISE))


def _groups(policy: Policy) -> tuple[str, list[Any]]:
    """A grouping column and keys that the policy knows."""
    for part in (policy, *policy.parts):
        said: Mapping[str, Any] = part.parameters()
        if isinstance(said.get("sensitive"), Mapping):
            name, values = next(iter(said["sensitive"].items()))
            return name, [*(one for one in values if one != "*"), "another"]
        if said.get("places") or said.get("alphabet"):
            return "place", list(said.get("places") or said["alphabet"])
        if part.by_distance:
            return "pay", [0, 50, 100]
        if part.between_values:
            return "place", sorted({end for edge in said["edges"] for end in edge[:2]})
    return "place", ["a", "b", "c", "d"]


def _table(policy: Policy, by: str) -> Any:
    """Columns that fit the policy's conditions, over no row. Errors: OnesidedError."""
    held = {**_COLUMNS, by: _COLUMNS.get(by, "VARCHAR")}
    view = next((part.view for part in (policy, *policy.parts) if part.view), None)
    conditions = [one for rule in policy.rules for one in rule.predicates]
    if view is not None:
        held.setdefault(view.over, "VARCHAR")
        conditions.append(view.condition)
    named = sorted({name for one in conditions for name in one.readable().columns})
    if len(named) > _TRIED:
        raise ParameterError(
            f"The policy looks at {len(named)} columns, whose types are not known here.",
            hint="Ask session.plan(question) over the table itself.",
        )
    first = [dict.fromkeys([held.get(name, ""), *_TYPES]) for name in named]
    for types in product(*([one for one in some if one] for some in first)):
        made = _without_rows({**held, **dict(zip(named, types, strict=True))})
        if _fits(made, conditions):
            return made
    return _without_rows(held)


def _without_rows(columns: Mapping[str, str]) -> Any:
    told = ", ".join(f"CAST(NULL AS {kind}) AS {quoted(name)}" for name, kind in columns.items())
    return duckdb.connect().sql(f"SELECT {told} WHERE false")


def _fits(made: Any, conditions: Sequence[Predicate]) -> bool:
    try:
        Table(made, unit="person").require_conditions(conditions)
    except (ConditionError, DataError):
        return False
    return True


def call(asked: Any) -> str:
    """A question as it is written.

    >>> call(asks.AtMost(5, by="place", keys=["a"], epsilon=1))
    "session.at_most(5, epsilon=1, by='place', keys=['a'])"
    """
    name = next(n for n, one in vars(Asks).items() if getattr(one, "question", 0) is type(asked))
    told = []
    for field in sorted(fields(asked), key=lambda one: bool(one.kw_only)):
        value = getattr(asked, field.name)
        if field.init and value != (None if field.default is MISSING else field.default):
            shown = repr(str(value) if isinstance(value, Fraction) else value)
            told.append(f"{field.name}={shown}" if field.kw_only else shown)
    return f"session.{name}({', '.join(told)})"
