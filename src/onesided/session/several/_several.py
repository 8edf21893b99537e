"""Several questions about one table, answered together or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import Loss, Number
from onesided.accounting import several_note
from onesided.errors import ParameterError
from onesided.noise import Noise
from onesided.policy import Guarantee
from onesided.session._context import QueryContext
from onesided.session._question import (
    LABEL,
    Answer,
    Packed,
    PreparedQuery,
    Question,
    require_question,
    stated,
)
from onesided.session.several._answers import Answers, PlanOfSeveral
from onesided.session.several._split import with_shares

MOST_QUESTIONS: Final = 256
Prepared = PreparedQuery[Any, Any]


@dataclass(frozen=True, slots=True)
class Several:
    """Several questions as one: one plan, one charge, all answers or none.

    questions: as :meth:`onesided.Session.ask` takes them, without an id of their own.
    epsilon: what they may lose in all, per unit of edge weight; by default what they say.
    weights: how that is shared; equally if an ``epsilon`` and nothing else is given.
    guesses: public guesses of the answers' size; ε is shared so that each predicted error is the
        same part of its guess.
    id, again: name all answers together in the ledger; see :class:`onesided.session.Grouped`.

    Promise: on each edge at most the sum of what the questions lose on it, also where one of them
    is charged on an edge that another leaves alone: composition as the ledger does it, per edge.
    Proof: each answer draws noise of its own, so the probability of all is the product.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=3)
    >>> count = od.Count(by="place", keys=["a", "b"], epsilon=1)
    >>> answers = session.ask_all([count, od.Count(epsilon=1)], epsilon=2, weights=[1, 3])
    >>> [str(one.guarantee.headline) for one in (*answers, answers)]
    ['1/2', '3/2', '2']
    """

    questions: Sequence[Question[Any]]
    epsilon: Number | None = field(default=None, kw_only=True)
    weights: Sequence[Number] | None = field(default=None, kw_only=True)
    guesses: Sequence[Number] | None = field(default=None, kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    again: bool = field(default=False, kw_only=True)

    def measure(self, units: str) -> str:
        """What the numbers are: each answer says it of itself."""
        return f"{many(len(self.questions), 'answer')} about {units}"

    def prepare(self, context: QueryContext) -> PreparedSeveral:
        """Check and price the questions. Looks at no row."""
        parts = tuple(stated(one, one.prepare(context), context) for one in self.shared(context))
        plan = _plan(context, parts)

        def draw(secrets: Sequence[Any], noise: Noise | None) -> Answer:
            return {"answers": [p.draw(s, noise) for p, s in zip(parts, secrets, strict=True)]}

        def result(answer: Answer, entry: int | None) -> Answers:
            found: Any = answer["answers"]
            told = tuple(p.result(one, entry) for p, one in zip(parts, found, strict=True))
            cut = " ".join(dict.fromkeys(one.cut for one in told if one.cut))
            return Answers(
                parts=told,
                guarantee=plan.guarantee,
                entry=entry,
                cut=cut,
                _make_frame=lambda columns: context.table.result(columns, like=()),
            )

        return PreparedSeveral(
            detail={"questions": [{"label": _title(p), **p.detail} for p in parts]},
            plan=plan,
            context=context,
            columns=(),
            look=lambda _: [],
            draw=draw,
            result=result,
            noise=tuple(part.noise or part.plan.mechanism for part in parts),
            parts=parts,
        )

    def shared(self, context: QueryContext) -> tuple[Question[Any], ...]:
        """The questions with their shares of ε. Errors: ParameterError."""
        return with_shares(
            _checked(self.questions),
            context,
            epsilon=self.epsilon,
            weights=self.weights,
            guesses=self.guesses,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSeveral(PreparedQuery[list[Any], Answers]):
    """Several questions in their steps: each is read and drawn as it would be alone."""

    parts: tuple[Prepared, ...]

    @property
    def fails_by_rows(self) -> bool:
        """Whether rows decide if they are answered."""
        return any(part.fails_by_rows for part in self.parts)

    def read(self) -> list[Any]:
        """Take one snapshot of the columns of all, check it and look at it for each. Secret."""
        wanted = [n for part in self.parts for n in part.context.table.sources(part.columns)]
        with self.context.source(tuple(dict.fromkeys(wanted))) as source:
            taken = [part.context.over(source, part.columns) for part in self.parts]
            for part, own in zip(self.parts, taken, strict=True):
                if part.asserts is not None:
                    part.asserts(own)
            return [part.look(own) for part, own in zip(self.parts, taken, strict=True)]

    def pack(self, answer: Answer) -> Packed:
        """What the ledger keeps of each answer, by its place."""
        facts: dict[str, object] = {}
        columns: dict[str, NDArray[Any]] = {}
        found: Any = answer["answers"]
        for place, (part, one) in enumerate(zip(self.parts, found, strict=True)):
            facts[str(place)], own = part.pack(one)
            columns |= {f"{place}/{name}": column for name, column in own.items()}
        return facts, columns

    def unpack(self, packed: Packed) -> Answer:
        """The answers that were packed. Errors: LedgerError if one cannot be told again."""
        facts: Mapping[str, Any] = packed[0]
        found = []
        for place, part in enumerate(self.parts):
            start = f"{place}/"
            own = {n.removeprefix(start): c for n, c in packed[1].items() if n.startswith(start)}
            found.append(part.unpack((facts[str(place)], own)))
        return {"answers": found}


def _title(part: Prepared) -> str:
    return part.statement.title()[:LABEL]


def _checked(questions: object) -> tuple[Any, ...]:
    """The questions. Errors: ParameterError for what cannot be asked with others."""
    if isinstance(questions, str) or not isinstance(questions, Sequence):
        raise ParameterError(
            f"questions must be a list, got {questions!r}.",
            hint="Write ask_all([question, question], ...).",
            value=questions,
        )
    if not 1 <= len(questions) <= MOST_QUESTIONS:
        raise ParameterError(
            f"{len(questions)} questions were given.",
            hint=f"Give 1 to {MOST_QUESTIONS} of them.",
        )
    for place, one in enumerate(questions, 1):
        require_question(one)
        if isinstance(one, Several) or one.id is not None or one.again:
            raise ParameterError(
                f"Question {place} has an id of its own, or is several already.",
                hint="Give the id to ask_all, and the questions in one list.",
                question=place,
            )
    return tuple(questions)


def _plan(context: QueryContext, parts: Sequence[Prepared]) -> PlanOfSeveral:
    """What all cost together: the sum on each edge."""
    plans = tuple(part.plan for part in parts)
    edges = [edge.name for edge in context.policy.edges]
    promises = [plan.guarantee for plan in plans]
    charge: dict[str, Loss] = {edge: _added((p.charge for p in plans), edge) for edge in edges}
    delta = {edge: _added((one.delta for one in promises), edge) for edge in edges}
    sides = [set(plan.certain) for plan in plans]
    return PlanOfSeveral(
        mechanism=tuple(plan.mechanism for plan in plans),
        charge=charge,
        account=context.account,
        guarantee=Guarantee(
            context.policy.name,
            charge,
            delta,
            " ".join(dict.fromkeys(one.about for one in promises if one.about)),
            "; ".join(dict.fromkeys(one.scope for one in promises if one.scope)),
            context.policy,
        ),
        certain=tuple(side for side in ("upper", "lower") if all(side in some for some in sides)),
        noise=several_note((p.noise, _finite(p.charge)) for p in plans)
        if not any(delta.values())
        else {},
        parts=plans,
    )


def _finite(charge: Mapping[str, Loss]) -> dict[str, Fraction]:
    """What is lost on each edge; an endless loss is refused before it is noted."""
    return {edge: one for edge, one in charge.items() if isinstance(one, Fraction)}


def _added(tables: Iterable[Mapping[str, Any]], edge: str) -> Any:
    return sum((table.get(edge, Fraction(0)) for table in tables), Fraction(0))
