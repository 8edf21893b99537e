"""What several answers cost together if no row is in two of them.

Claim. Each answer is about the rows that meet its own condition, and draws noise of its own. So
what a move leaves as it is in a part, it leaves as it is in that part's answer, and the losses of
the parts that it changes add up. On each edge the charge is

* the largest of one part, where each move takes away or adds one row; or where what is dropped are
  values of the very column that tells parts and groups apart, and each costs its share of the
  price of all that a move may drop;
* where a move replaces a row, which may lie in one part before and in another one after: the
  largest of one part, and of (leaving part i + entering part j) over all i and j that differ;
* the sum over all parts where a unit may have rows in several, which holds whatever a move does.

Leaving and entering are priced on their own for counts, as moves of the same kinds to and from
absence; a part's own price bounds both, for its rows may become rows of no part. Nothing is made
symmetric: an edge is left from its source and entered at its target.
Source: OSDP Theorem 10.2, for moves that replace ours. Lines: ``session: Several, parts``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any, Final

from onesided._english import a
from onesided._numbers import INFINITE, Loss
from onesided.conditions import apart
from onesided.errors import ParameterError
from onesided.policy import ABSENT, Edge, Policy, Shift, custom
from onesided.schema import BOOLEAN, DATE, INTEGER, NUMBER, TEXT, Type, moment_type
from onesided.session._context import QueryContext
from onesided.session._groups import Grouped
from onesided.session._missing import counted_where
from onesided.session._plan import Plan

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
Table = Mapping[str, Any]


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


def charged_apart(
    context: QueryContext, plans: Sequence[Plan], column: str
) -> tuple[dict[str, Loss], dict[str, Fraction], str]:
    """ε and δ of each edge, and why they are no less. column: what tells the parts apart."""
    policy = context.policy
    epsilon, delta = [one.charge for one in plans], [one.delta for one in plans]
    edges = [edge.name for edge in policy.edges]

    def on_each(how: Callable[[Iterable[Any]], Any], tables: Sequence[Table]) -> dict[str, Any]:
        return {e: how([table.get(e, Fraction(0)) for table in tables]) for e in edges}

    why = ""  # one move may change several parts
    endless = any(INFINITE in one.values() for one in epsilon)
    if endless:
        why = "their noise is charged by its divergences"
    elif policy.view is not None:
        why = "a move may change the kinds of a whole group"
    elif not context.row_each:
        why = "one unit may have rows in several"
    drops = policy.other_values == "dropped" and len(policy.parts) == 1
    if drops and why and not endless and all(in_proportion(policy, one, column) for one in plans):
        return on_each(max, epsilon), on_each(max, delta), _DROPS.format(column=column)
    if why:
        return on_each(_added, epsilon), on_each(_added, delta), _SUM.format(column=column, why=why)
    if drops or comes_or_goes(policy):
        return on_each(max, epsilon), on_each(max, delta), _ONE.format(column=column)
    ends = [ends_of(policy, plan) for plan in plans]
    charge: dict[str, Loss] = on_each(max, epsilon)
    for edge in policy.edges:
        if any(ABSENT not in way for way in policy.ways(edge)):
            own = charge[edge.name]
            pairs = permutations([end(edge) for end in ends], 2)
            charge[edge.name] = max([own, *(left + into for (left, _), (_, into) in pairs)])
    two = on_each(lambda many: _added(sorted(many)[-2:]), delta)
    return charge, two, _TWO.format(column=column)


def _added(losses: Iterable[Any]) -> Any:
    return sum(losses, Fraction(0))


def ends_of(policy: Policy, plan: Plan) -> Callable[[Edge], tuple[Loss, Loss]]:
    """What leaving a part and entering it cost along an edge; neither above the part's price."""
    query = plan.query
    if query is None or not policy.of_kinds:
        return lambda edge: (plan.charge[edge.name], plan.charge[edge.name])
    kinds = [kind for kind in policy.kinds if kind != ABSENT]
    sources = dict.fromkeys(e.source for e in policy.edges if e.source != ABSENT)
    to_and_fro = custom(
        kinds=[*kinds, ABSENT],
        edges=[*((kind, ABSENT) for kind in sources), *((ABSENT, kind) for kind in kinds)],
        rules=[(rule.kind, rule.condition) for rule in policy.rules],
        default=policy.default_kind,
    )
    found = {
        (edge.source, edge.target): max(plan.mechanism.loss(shift) for shift in shifts)
        for edge, shifts in to_and_fro.shifts(query).items()
    }

    def ends(edge: Edge) -> tuple[Loss, Loss]:
        own = plan.charge[edge.name]
        if ABSENT in (edge.source, edge.target):
            return own, own
        return min(own, found[edge.source, ABSENT]), min(own, found[ABSENT, edge.target])

    return ends


def in_proportion(policy: Policy, plan: Plan, column: str) -> bool:
    """Whether each dropped group lies in one part, and costs its share of the part's price there.

    Where fewer groups are dropped than the noise covers, fewer counts fall: a part of one cell has
    its whole price for the first of them, and two such parts have twice that.
    """
    query, most = plan.query, policy.covers or 0
    if query is None or query.truncated or query.max_groups is not None or plan.by != (column,):
        return False
    (own,) = plan.charge.values()
    falls = ((n, plan.mechanism.loss(Shift(rise=0, fall=n))) for n in range(1, most + 1))
    return all(loss * most <= own * n for n, loss in falls)
