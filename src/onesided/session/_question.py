"""What every question has in common: how it is asked, charged, drawn, kept and told."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from onesided.errors import ParameterError
from onesided.fields import is_bool
from onesided.noise import Noise
from onesided.schema import Schema
from onesided.session._context import QueryContext, Taken
from onesided.session._plan import Plan
from onesided.session._release import Release
from onesided.session._statement import UNSAID, Nouns, Statement, several, statement_of
from onesided.store import plain_text

CONTENT_TYPE: Final = "application/vnd.onesided.answer"
LABEL: Final = 500
_LONGEST: Final = 200
_DIGITS: Final = 16  # of a digest

Answer = Mapping[str, Any]
Check = Callable[[Taken], None]
Packed = tuple[dict[str, object], dict[str, NDArray[Any]]]
Secret = TypeVar("Secret")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)
P = ParamSpec("P")


class FormLine(NamedTuple):
    """One line of a form for people: its name, its words, and the fields that it fills in.

    number: the field that takes the form's number, if the line needs one.
    """

    kind: str
    words: str
    number: str = ""
    given: Mapping[str, Any] = MappingProxyType({})


class Question(Protocol[Result_co]):
    """A question as a frozen dataclass: its fields are all that tells it from others.

    >>> import onesided as od
    >>> od.Count(by="place", keys=["gym", "bar"], epsilon="1/2", id="monday").id
    'monday'
    """

    @property
    def id(self) -> str | None:
        """Names the answer in the ledger; None keeps no name."""
        ...

    @property
    def again(self) -> bool:
        """Whether an answer that is stored under the id is returned again, at no cost."""
        ...

    @property
    def title(self) -> str:
        """What people are to call the answer; no part of what was asked."""
        ...

    def prepare(self, context: QueryContext) -> PreparedQuery[Any, Result_co]:
        """Check and price the question. Looks at no row."""
        ...

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are, of units and columns that are called so."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedQuery(Generic[Secret, Result_co]):
    """A question that passed every check, in the steps a session takes it through.

    detail: its public facts, as the ledger keeps them.
    columns: those that it looks at, of ``context``. asserts: what it holds their rows to, by
    raising, before anything is charged; None where nothing that it asks for depends on rows. look:
    reads a snapshot of them. draw: adds the noise. These two, and result, are total.
    result: makes the release of an answer, drawn or stored, and its number in the ledger.
    noise: the mechanism that a stored answer must have been drawn by to be told again; by default
    the plan's. statement: what the answer is about; see :func:`stated`. likely: how sure an answer
    is that decides and is not certain; "" of others.
    """

    detail: Mapping[str, object]
    plan: Plan
    context: QueryContext
    columns: tuple[str, ...]
    look: Callable[[Taken], Secret]
    draw: Callable[[Secret, Noise | None], Answer]
    result: Callable[[Answer, int | None], Result_co]
    noise: object = None
    asserts: Check | None = None
    statement: Statement = UNSAID
    likely: str = ""

    @property
    def fails_by_rows(self) -> bool:
        """Whether rows decide if it is answered."""
        return self.asserts is not None

    def read(self) -> Secret:
        """Take a snapshot of the columns, check it and look at it. Secret.

        Errors: DataError, ContributionError for rows that are not as declared or as asserted.
        """
        with self.context.taken(self.columns) as taken:
            if self.asserts is not None:
                self.asserts(taken)
            return self.look(taken)

    def pack(self, answer: Answer) -> Packed:
        """What the ledger keeps: JSON values, and columns."""
        columns = {name: part for name, part in answer.items() if isinstance(part, np.ndarray)}
        return {name: part for name, part in answer.items() if name not in columns}, columns

    def unpack(self, packed: Packed) -> Answer:
        """The answer that was packed. Errors: LedgerError if it cannot be told again."""
        return {**packed[0], **packed[1]}


def all_of(*checks: Check | None) -> Check | None:
    """Each of these checks; None if there is none."""
    wanted = [check for check in checks if check is not None]

    def every(taken: Taken) -> None:
        for check in wanted:
            check(taken)

    return every if wanted else None


def stated(
    question: Question[Result], prepared: PreparedQuery[Secret, Result], context: QueryContext
) -> PreparedQuery[Secret, Result]:
    """The question in its steps, whose plan and release say what they are about."""
    statement = statement_of(
        question, unit=context.unit, schema=context.declared, filled=context.filled
    ).likely(prepared.likely)
    if told := [part.statement for part in getattr(prepared, "parts", ())]:
        about = getattr(question, "about", several)
        statement = replace(about(told), heading=statement.heading)
    else:
        made = context.table.made
        of = tuple(f"{name}: {made[name]}" for name in prepared.columns if name in made)
        statement = replace(statement, made=of, reading=_reading(question, prepared, context))
    title, caveat = statement.title(), context.caveat

    def result(answer: Answer, entry: int | None) -> Result:
        release: Any = prepared.result(answer, entry)
        if not isinstance(release, Release):
            return release  # type: ignore[no-any-return]
        cut = release.cut
        return replace(  # type: ignore[return-value]
            release,
            asked=statement,
            cut=cut if cut.startswith(caveat) else f"{caveat} {cut}".strip(),
            own={**release.own, "_opened": context.table.opened},
            guarantee=replace(release.guarantee, asked=title),
        )

    plan = replace(prepared.plan, guarantee=replace(prepared.plan.guarantee, asked=title))
    return replace(prepared, plan=plan, result=result, statement=statement)


def _reading(question: object, prepared: PreparedQuery[Any, Any], context: QueryContext) -> str:
    """What words leave open of the question, as a digest: answers are alike only where it is."""
    table, schema = prepared.context.table, context.declared or Schema()
    names = {*prepared.columns, *table.sources(prepared.columns), *(table.dated or ())[:2]}
    readings = {name: schema.reading(name) for name in sorted(names & schema.columns.keys())}
    read = {
        name: [repr(one), schema.refuses_unreadable(name)]
        for name, one in readings.items()
        if one.missing or name in table.read_as
    }
    facts = {
        "read": read,
        "nobody": schema.missing_unit if context.unit else None,
        "unit": schema.noun and [context.unit],
        "dated": table.dated,
        "kinds": context.policy.identity if getattr(question, "counted", None) else None,
    }
    said = {name: fact for name, fact in facts.items() if fact}
    told = json.dumps(said, sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()[:_DIGITS] if said else ""


def require_question(given: object) -> None:
    """Refuse what is no question, such as the class of one. Errors: ParameterError.

    >>> import onesided as od
    >>> require_question(od.Count(epsilon=1))
    """
    asks = hasattr(given, "prepare") and hasattr(given, "measure")
    if isinstance(given, type) or not (is_dataclass(given) and asks):
        raise ParameterError(
            f"A question was expected, got {given!r}.",
            hint='Make one of onesided.session\'s, such as Count(by="place", keys=places, '
            "epsilon=1).",
        )
    name, again = getattr(given, "id", None), getattr(given, "again", False)
    heading = plain_text(getattr(given, "title", ""), name="title")
    if len(heading) > _LONGEST:
        raise ParameterError(
            f"title has {len(heading):,} characters.",
            hint=f"Give at most {_LONGEST}; the statement says what was asked.",
            title=heading,
        )
    is_bool(again, name="again")
    if name is not None and (not isinstance(name, str) or not name):
        raise ParameterError(
            f"id must be text that is not empty, got {name!r}.",
            hint='Name the answer, such as id="2026-11", or leave id= out.',
            id=name,
        )


def require_noise(given: Noise | None) -> Noise | None:
    """Refuse what nothing can be drawn from, before it is charged for. Errors: ParameterError."""
    kind = type(given)  # asked of its class: a stand-in may count what is asked of itself
    if given is not None and not (hasattr(kind, "two_sided") or hasattr(kind, "__getattr__")):
        raise ParameterError(
            f"noise must be a source of noise, got {given!r}.",
            hint="Leave noise= out: production draws from the operating system.",
        )
    return given
