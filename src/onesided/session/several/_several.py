"""Several answers that were charged as one, and their plan."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeAlias

from numpy.typing import NDArray

from onesided._english import a, many
from onesided._numbers import INFINITE, Loss, Number, exact, positive
from onesided.accounting import noise_note, noted, several_note, steps_note
from onesided.conditions import apart, equals
from onesided.errors import ParameterError
from onesided.fields import is_bool
from onesided.mechanism.kit import Chosen, Gaussian, OneOf, Steps, Together
from onesided.noise import Noise
from onesided.policy import ABSENT, Edge, Guarantee, Policy, Shift, custom
from onesided.schema import BOOLEAN, DATE, INTEGER, NUMBER, TEXT, Type, moment_type
from onesided.session._context import QueryContext, condition, counted_where
from onesided.session._fields import Asked, Shares
from onesided.session._gaussian import kept_pure
from onesided.session._groups import Grouped
from onesided.session._plan import Plan, PlanOption, alone_at_delta
from onesided.session._question import (
    LABEL,
    Answer,
    Packed,
    PreparedQuery,
    Question,
    require_question,
    stated,
)
from onesided.session._recall import told_of
from onesided.session._release import Release
from onesided.session._statement import Nouns
from onesided.show import RoleTable, require_formats

# What several answers cost together if no row is in two of them.
#
# Claim. Each answer is about the rows that meet its own condition, and draws noise of its own. So
# what a move leaves as it is in a part, it leaves as it is in that part's answer, and the losses of
# the parts that it changes add up. On each edge the charge is
#
# * the largest of one part, where each move takes away or adds one row; or where what is dropped
#   are values of the very column that tells parts and groups apart, and each costs its share of the
#   price of all that a move may drop;
# * where a move replaces a row, which may lie in one part before and in another one after: the
#   largest of one part, and of (leaving part i + entering part j) over all i and j that differ;
# * the sum over all parts where a unit may have rows in several, which holds whatever a move does.
#
# Leaving and entering are priced on their own for counts, as moves of the same kinds to and from
# absence; a part's own price bounds both, for its rows may become rows of no part. Nothing is made
# symmetric: an edge is left from its source and entered at its target. What is charged is told as
# one of these laws, two of them together where two parts change: so the rule holds of ε, of each
# order's divergence and of what totals compose, and each of them takes its own worst.
# Source: OSDP Theorem 10.2, for moves that replace ours. Lines: ``session: Several, parts``.


_TYPES: Final[Mapping[str, Type]] = {
    "text": TEXT,
    "integer": INTEGER,
    "number": NUMBER,
    "boolean": BOOLEAN,
    "date": DATE,
    "datetime": moment_type(),
    "datetime with zone": moment_type(zoned=True),
}
_APART: Final = "No row is in two of these parts, by {column!r}, "
_ONE: Final = f"{_APART}and each move changes one part: the charge is the largest of one part."
_TWO: Final = (
    f"{_APART}but a move can take one from part to part: the charge is the largest of leaving one "
    "and entering another."
)
_SUM: Final = f"{_APART}but {{why}}: the charge is their sum."
_DROPS: Final = (
    "These are parts of {column!r}, whose groups a move drops, and their prices are in proportion "
    "to how many: the charge is the largest of one part."
)
_MOST_PRICES: Final = 8


def column_apart(context: QueryContext, questions: Sequence[Any]) -> str:
    """The column by which no row is in two of the parts. Errors: where none is shown to."""
    for place, one in enumerate(questions, 1):
        if not isinstance(one, Grouped) or one.where is None:
            raise ParameterError(
                f"Question {place} is {a(type(one).__name__)} of which no where= says the part.",
                hint="Give each question a condition of its own, such as where=\"county = 'Uri'\"; "
                "or ask them with ask_all([...]), and the charges add up.",
                question=place,
            )
    conditions = [counted_where(one.where, "recorded").readable() for one in questions]  # type: ignore[union-attr] # each has one
    types = types_in(context)
    possible = any(one.unknown == "possible" for one in questions)
    found = apart(conditions, types, known=context.filled if possible else None)
    if found is None:
        known = ", with a value in each row (required = true in the schema)," if possible else ""
        raise ParameterError(
            "These parts are not shown to be disjoint.",
            hint=f"Let one and the same column{known} equal other values in each condition, or lie "
            "in another interval, joined by AND to whatever else it says. Or ask them with "
            "ask_all([...]), and the charges add up.",
        )
    return found


def types_in(context: QueryContext) -> dict[str, Type]:
    """The columns that conditions see a value in, with its type."""
    return {n: _TYPES[kind] for n in context.schema if (kind := context.sees(n)) in _TYPES}


def comes_or_goes(policy: Policy) -> bool:
    """Whether each move takes something away or adds it, and none replaces it."""
    return all(ABSENT in way for edge in policy.edges for way in policy.ways(edge))


def drops(policy: Policy) -> bool:
    """Whether a move takes groups away and changes nothing else."""
    return policy.other_values == "dropped" and len(policy.parts) == 1


def charged_apart(
    context: QueryContext, plans: Sequence[Plan], column: str
) -> tuple[dict[str, Steps], dict[str, Fraction], str]:
    """What each edge loses, its δ, and why that is no less. column: what tells the parts apart."""
    policy, edges = context.policy, [edge.name for edge in context.policy.edges]
    delta = {e: sorted(one.delta.get(e, Fraction(0)) for one in plans) for e in edges}
    known = {edge: [known_along(one, edge) for one in plans] for edge in edges}

    def most_of(parts: int) -> dict[str, Fraction]:
        return {edge: sum(some[-parts:], Fraction(0)) for edge, some in delta.items()}

    why = ""  # one move may change several parts
    if policy.view is not None:
        why = "a move may change the kinds of a whole group"
    elif not context.row_each:
        why = "one unit may have rows in several"
    largest = {edge: _one_of(some) for edge, some in known.items()}
    if drops(policy) and why and all(in_proportion(policy, one, column) for one in plans):
        return largest, most_of(1), _DROPS.format(column=column)
    if why:
        added: dict[str, Steps] = {edge: Together(tuple(some)) for edge, some in known.items()}
        return added, most_of(len(plans)), _SUM.format(column=column, why=why)
    if drops(policy) or comes_or_goes(policy):
        return largest, most_of(1), _ONE.format(column=column)
    ends = [ends_of(policy, plan) for plan in plans]
    for edge in policy.edges:
        if any(ABSENT not in way for way in policy.ways(edge)):
            several = Counter(end(edge) for end in ends)
            pairs = [
                Together((one[0], other[1]))
                for one, other in product(several, repeat=2)
                if one != other or several[one] > 1
            ]
            worst = _one_of([*known[edge.name], *pairs])
            if len(several) > _MOST_PRICES:  # a row of the ledger would be long
                each = Together(tuple(known[edge.name]))
                worst = each if worst.epsilon == INFINITE else Chosen(worst.epsilon, INFINITE)
            largest[edge.name] = worst
    return largest, most_of(2), _TWO.format(column=column)


def _one_of(steps: Iterable[Steps]) -> Steps:
    """Whichever a move has it; each told once."""
    flat = (part for one in steps for part in (one.steps if isinstance(one, OneOf) else (one,)))
    return OneOf(tuple(dict.fromkeys(flat)))


def known_along(plan: Plan, edge: str) -> Steps:
    """What is known of an answer's loss along an edge: its law, or ε alone."""
    found, epsilon = noted(plan.noise, edge=edge), plan.charge.get(edge, Fraction(0))
    if found is not None and found.epsilon == epsilon:
        return found
    return Chosen(epsilon, INFINITE * bool(epsilon))


def ends_of(policy: Policy, plan: Plan) -> Callable[[Edge], tuple[Steps, Steps]]:
    """What leaving a part and entering it lose along an edge; neither more than the part does."""
    query = plan.query
    if query is None or not policy.of_kinds:
        return lambda edge: (known_along(plan, edge.name),) * 2
    kinds = [kind for kind in policy.kinds if kind != ABSENT]
    sources = dict.fromkeys(e.source for e in policy.edges if e.source != ABSENT)
    to_and_fro = custom(
        kinds=[*kinds, ABSENT],
        edges=[*((kind, ABSENT) for kind in sources), *((ABSENT, kind) for kind in kinds)],
        rules=[(rule.kind, rule.condition) for rule in policy.rules],
        default=policy.default_kind,
    )
    moves = to_and_fro.shifts(query).items()
    told = replace(
        plan,
        noise=noise_note(plan.mechanism, {edge.name: shifts for edge, shifts in moves}),
        charge={edge.name: max(map(plan.mechanism.loss, shifts)) for edge, shifts in moves},
    )
    found = {(edge.source, edge.target): known_along(told, edge.name) for edge, _ in moves}

    def ends(edge: Edge) -> tuple[Steps, Steps]:
        own = known_along(plan, edge.name)
        if ABSENT in (edge.source, edge.target):
            return own, own
        left, entered = found[edge.source, ABSENT], found[ABSENT, edge.target]
        return min(left, own, key=_size), min(entered, own, key=_size)

    return ends


def _size(steps: Steps) -> tuple[Loss, int]:
    """What orders steps of one mechanism: their ε, and of Gaussian noise how far it is moved."""
    parts = steps.steps if isinstance(steps, OneOf) else (steps,)
    far = max((one.squares for one in parts if isinstance(one, Gaussian)), default=0)
    return steps.epsilon, far


def in_proportion(policy: Policy, plan: Plan, column: str) -> bool:
    """Whether each dropped group lies in one part, and costs its share of the part's price there.

    Where fewer groups are dropped than the noise covers, fewer counts fall: a part of one cell has
    its whole price for the first of them, and two such parts have twice that.
    """
    query, most = plan.query, policy.covers or 0
    if INFINITE in plan.charge.values():
        return False  # divergences rise with the square of what falls
    if query is None or query.truncated or query.max_groups is not None or plan.by != (column,):
        return False
    (own,) = plan.charge.values()
    falls = ((n, plan.mechanism.loss(Shift(rise=0, fall=n))) for n in range(1, most + 1))
    return all(loss * most <= own * n for n, loss in falls)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOfSeveral(Plan):
    """What several questions would cost together, and how well each would be answered.

    parts: the plan of each, at its share of ε. mechanism: those of all parts.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3]})
    >>> session = od.Session(people, unit="person", policy=od.policy.addition_only(), budget=9)
    >>> questions = [od.Count(epsilon=1), od.Count(epsilon=2)]
    >>> plan = session.plan(od.session.Several(questions))
    >>> len(plan.parts), plan.guarantee.headline
    (2, Fraction(3, 1))
    """

    parts: tuple[Plan, ...] = field(default=(), repr=False)

    @property
    def options(self) -> tuple[PlanOption, ...]:
        """What would answer each question, in the order they were asked; see ``parts`` for more."""
        chosen = (part.options[0] for part in self.parts)
        return tuple(
            replace(one, name=f"{number}. {one.name}") for number, one in enumerate(chosen, 1)
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answers(Release):
    """Several answers, all under one charge; a sequence of releases. Everything here is public.

    guarantee: what they promise together; each release says what it promises alone.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> count = od.Count(by="place", keys=["a", "b"], epsilon=50)
    >>> largest = od.session.TopK(1, by="place", keys=["a", "b"], epsilon=50)
    >>> answers = session.ask_all([count, largest])
    >>> counts, top = answers
    >>> counts.estimate.tolist(), top.labels, counts.entry == top.entry
    ([1, 3], ['b'], True)
    """

    parts: tuple[Release, ...]
    kind: str = "Answers"

    @property
    def releases(self) -> tuple[Release, ...]:
        """The answers, in the order of the questions."""
        again, drawn = self.told_again, self.drawn
        return tuple(replace(part, told_again=again, drawn=drawn) for part in self.parts)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, place: int) -> Any:
        return self.releases[place]

    @property
    def table(self) -> RoleTable:
        """What was answered: each release has a table of its own."""
        numbers, titles = range(1, len(self) + 1), [part.title for part in self.parts]
        told = {"answer": list(numbers), "title": titles}
        return RoleTable.of(told, roles={"answer": "fact", "title": "fact"})

    def write_into(
        self, place: Path, formats: Sequence[str], *, outline: object = None, structure: str = ""
    ) -> None:
        """Each answer in a folder ``1``, ``2``, ... of its own, beside what they are together."""
        own = [name for name in require_formats(formats) if name != "sdmx"]  # it has no numbers
        Release.write_into(self, place, own or ["csv"], outline=outline)
        for number, one in enumerate(self.releases, 1):
            (place / str(number)).mkdir()
            one.write_into(place / str(number), formats, outline=outline, structure=structure)

    def __str__(self) -> str:
        told = "\n\n".join(str(replace(part, told_again=False)) for part in self.parts)
        return "\n".join([*self._head(), "", told, "", f"Together: {self.guarantee.promise}"])


# How questions that are asked at once share a budget.

# Shares are whole 2^20ths, so that they stay short; rounds until errors agree to a thousandth.
_GRAIN: Final = 2**20
_ROUNDS: Final = 12
_ALIKE: Final = 1.001


def total_of(questions: Sequence[Any], epsilon: Number | None) -> Fraction:
    for place, question in enumerate(questions, 1):
        if "epsilon" not in {one.name for one in fields(question)}:
            raise ParameterError(
                f"Question {place} is {a(type(question).__name__)}, whose loss is its mechanism's: "
                "it has no share of a budget.",
                hint="Leave epsilon=, weights= and guesses= out; each question then keeps its own.",
            )
    if epsilon is not None:
        return positive(epsilon, name="epsilon")
    return sum((positive(one.epsilon, name="epsilon") for one in questions), Fraction(0))


def _numbers(
    given: Sequence[Number], questions: Sequence[Any], *, name: str
) -> tuple[Fraction, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(questions):
        raise ParameterError(
            f"{name} must be a list with one number for each of {len(questions)} questions, got "
            f"{given!r}.",
            hint="Give them in the order of the questions.",
            value=given,
        )
    return tuple(positive(exact(one, name=name), name=name) for one in given)


def _at(questions: Sequence[Any], shares: Sequence[Fraction]) -> tuple[Any, ...]:
    return tuple(replace(one, epsilon=part) for one, part in zip(questions, shares, strict=True))


def _to_equal_errors(
    questions: Sequence[Any], context: QueryContext, total: Fraction, sizes: Sequence[float]
) -> tuple[Any, ...]:
    """Shares at which each answer's predicted error is the same part of its guess.

    Errors fall as 1/ε or nearly, so a share that is as many times larger as its error is too
    large is nearly right at once. From the plans alone: no row is looked at.
    """
    shares = [1 / len(questions)] * len(questions)
    found = _at(questions, _rounded(shares, total))
    for _ in range(_ROUNDS):
        parts = []
        for place, (question, size) in enumerate(zip(found, sizes, strict=True), 1):
            plan = question.prepare(context).plan
            if not plan.standard_deviation:
                raise ParameterError(
                    f"The error of question {place} is not known before it is asked.",
                    hint="Share the budget by weights=.",
                    question=place,
                )
            parts.append(math.hypot(plan.standard_deviation, plan.bias) / size)
        if max(parts) <= _ALIKE * min(parts):
            break
        wanted = [share * part for share, part in zip(shares, parts, strict=True)]
        shares = [one / sum(wanted) for one in wanted]
        found = _at(questions, _rounded(shares, total))
    return found


def _rounded(shares: Sequence[float], total: Fraction) -> list[Fraction]:
    """Exact shares that add up to the total."""
    parts = [max(1, int(share * _GRAIN)) for share in shares]
    return [total * Fraction(part, sum(parts)) for part in parts]


# Several questions about one table, answered together or not at all.

MOST_QUESTIONS: Final = 256
Prepared = PreparedQuery[Any, Any]
Parts: TypeAlias = Annotated[
    Sequence[Question[Any]],
    Asked(
        {"type": "array", "items": {"$ref": "#/$defs/part"}},
        lambda parts, _, context: [{type(part).__name__: told_of(part, context)} for part in parts],
    ),
]


@dataclass(frozen=True, slots=True)
class Several:
    """Several questions as one: one plan, one charge, all answers or none.

    questions: as :meth:`onesided.Session.ask` takes them, without an id of their own.
    epsilon: what they may lose in all, per unit of edge weight; by default what they say.
    weights: how that is shared; equally if an ``epsilon`` and nothing else is given.
    guesses: public guesses of the answers' size; ε is shared so that each predicted error is the
        same part of its guess.
    disjoint: True where no row is in two of the questions' parts, as one column in their ``where``
        shows: equal to other values, or in other intervals, of it. The charge is then the largest
        of one part where each move changes one; where a move can take a row from part to part, the
        largest of leaving one and entering another; else the sum. The guarantee says which, and
        :meth:`onesided.Session.parts` writes the questions.
    id, again: name all answers together in the ledger; see :class:`onesided.session.Grouped`.

    Promise: on each edge at most the sum of what the questions lose on it, also where one of them
    is charged on an edge that another leaves alone: composition as the ledger does it, per edge.
    Proof: each answer draws noise of its own, so the probability of all is the product; of
    disjoint parts in ``session/several/_several.py``.
    Errors: ParameterError, also where parts are not shown to be disjoint.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=3)
    >>> count = od.Count(by="place", keys=["a", "b"], epsilon=1)
    >>> answers = session.ask_all([count, od.Count(epsilon=1)], epsilon=2, weights=[1, 3])
    >>> [str(one.guarantee.headline) for one in (*answers, answers)]
    ['1/2', '3/2', '2']
    >>> rows = od.Session(visits, policy=od.policy.addition_only(), budget=3)
    >>> parts = [od.Count(where=f"place = '{place}'", epsilon=1) for place in "ab"]
    >>> rows.ask_all(parts, disjoint=True).guarantee.headline
    Fraction(1, 1)
    """

    questions: Parts
    epsilon: Number | None = field(default=None, kw_only=True)
    weights: Shares = field(default=None, kw_only=True)
    guesses: Sequence[Number] | None = field(default=None, kw_only=True)
    disjoint: bool = field(default=False, kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    again: bool = field(default=False, kw_only=True)
    title: str = field(default="", kw_only=True)

    later: ClassVar = ("disjoint",)

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are: each answer says it of itself."""
        return f"{many(len(self.questions), 'answer')} about {nouns.units}"

    def prepare(self, context: QueryContext) -> PreparedSeveral:
        """Check and price the questions. Looks at no row."""
        questions = self.shared(context)
        is_bool(self.disjoint, name="disjoint")
        if any(getattr(one, "stream", None) is not None for one in questions):
            raise ParameterError(
                "The months of a stream are told one by one.", hint="Ask session.sample(...) alone."
            )
        column = column_apart(context, questions) if self.disjoint else ""
        parts = tuple(stated(one, one.prepare(context), context) for one in questions)
        if any(any(part.plan.delta.values()) for part in parts):  # beside a δ, ε counts
            kept = map(kept_pure, questions)
            parts = tuple(stated(one, one.prepare(context), context) for one in kept)
        plan = _plan(context, parts, column)

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
            detail={
                "questions": [{"label": p.statement.title()[:LABEL], **p.detail} for p in parts],
                **({"disjoint": column} if column else {}),
            },
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
        """The questions, each with its share of ε; unchanged where nothing is said.

        Errors: ParameterError for questions without an ε, and for weights or guesses that cannot
        be.
        """
        questions, weights, guesses = _checked(self.questions), self.weights, self.guesses
        if self.epsilon is None and weights is None and guesses is None:
            return questions
        total = total_of(questions, self.epsilon)
        if guesses is None:
            parts = _numbers(weights or [1] * len(questions), questions, name="weights")
            return _at(questions, [total * part / sum(parts) for part in parts])
        if weights is not None:
            raise ParameterError(
                "weights and guesses both say how to share the budget.", hint="Give one of them."
            )
        sizes = [float(size) for size in _numbers(guesses, questions, name="guesses")]
        return _to_equal_errors(questions, context, total, sizes)


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
            f"{len(questions)} questions were given.", hint=f"Give 1 to {MOST_QUESTIONS} of them."
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


def _plan(context: QueryContext, parts: Sequence[Prepared], column: str) -> PlanOfSeveral:
    """What all cost together: the sum on each edge, or less of parts by the values of a column."""
    plans = tuple(part.plan for part in parts)
    edges = [edge.name for edge in context.policy.edges]
    promises = [plan.guarantee for plan in plans]
    charge: dict[str, Loss] = {edge: _added((p.charge for p in plans), edge) for edge in edges}
    delta = {edge: _added((one.delta for one in plans), edge) for edge in edges}
    sides = [set(plan.certain) for plan in plans]
    if any(delta.values()) and INFINITE in charge.values():
        raise ParameterError(
            "Noise that is charged by its divergences, and an answer with a δ of its own, have no "
            "charge together.",
            hint='Ask them one by one, or with law="pure".',
        )
    noise = {} if any(delta.values()) else several_note((p.noise, p.charge) for p in plans)
    about, why = _about([one.about for one in promises]), ""
    if column:
        steps, lost, why = charged_apart(context, plans, column)
        told = {edge: one.epsilon for edge, one in steps.items()}
        if (told, lost) != (charge, delta) or INFINITE in told.values():  # no sum
            noise = {} if any(lost.values()) else steps_note(steps)
        charge, delta = told, lost
    epsilon, at = alone_at_delta(context.account, charge, noise)
    return PlanOfSeveral(
        mechanism=tuple(plan.mechanism for plan in plans),
        charge=charge,
        account=context.account,
        guarantee=Guarantee(
            context.policy.name,
            epsilon,
            {edge: delta[edge] + at[edge] for edge in edges},
            f"{about} {why}".strip(),
            "; ".join(dict.fromkeys(one.scope for one in promises if one.scope)),
            context.policy,
        ),
        certain=tuple(side for side in ("upper", "lower") if all(side in some for some in sides)),
        why=why,
        noise=noise,
        parts=plans,
    )


def _about(each: Sequence[str]) -> str:
    """What data the answers are about: once where all say the same, else by their numbers."""
    places: dict[str, list[str]] = {}
    for place, about in enumerate(each, 1):
        places.setdefault(about, []).append(str(place))
    if len(places) == 1:
        return each[0]
    told = (
        (f"answer{'s' * (len(one) > 1)} {', '.join(one)}", text) for text, one in places.items()
    )
    return " ".join(f"Of {which}: {text}" for which, text in told if text)


def parts_of(question: Any, by: object, keys: object = None) -> list[Any]:
    """The question for each part of its rows: for each key of a column, or by each condition.

    Errors: ParameterError for no parts, and a question without a condition; ConditionError.
    """
    require_question(question)
    listed = isinstance(keys, Iterable) and not isinstance(keys, str | Mapping)
    if isinstance(by, str) and listed:
        chosen = [("", equals(by, key)) for key in keys]  # type: ignore[attr-defined] # it is
    elif isinstance(by, Mapping) and keys is None:
        chosen = [(str(name), part.text) for name in by if (part := condition(by[name]))]
    else:
        chosen = []
    if not chosen or not hasattr(question, "where"):
        raise ParameterError(
            f"by={by!r:.80}, keys={keys!r:.80} make no parts of {type(question).__name__}.",
            hint='Name a column and its public keys, as by="county", keys=["Uri", "Zug"]; or a '
            'condition for each part, as by={"children": "age < 18", "adults": "age >= 18"}.',
        )
    own = condition(question.where)
    start = "" if own is None else f"({own.text}) AND "
    return [
        replace(
            question,
            where=f"{start}{f'({part})' if isinstance(by, Mapping) and start else part}",
            title=name or question.title,
        )
        for name, part in chosen
    ]


def _added(tables: Iterable[Mapping[str, Any]], edge: str) -> Any:
    return sum((table.get(edge, Fraction(0)) for table in tables), Fraction(0))
