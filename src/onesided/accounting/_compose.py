"""Adding up what several releases cost, edge by edge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations

from onesided.accounting._bound import Bound, worst
from onesided.accounting._guarantees import bound_on, bounds_of, guarantee
from onesided.errors import ParameterError, PolicyError
from onesided.policy import ABSENT, Guarantee, Policy


def added(bounds: Iterable[Bound]) -> Bound:
    """Basic composition along one edge: ε and δ add up, however later questions were chosen.

    >>> added([Bound("1/4"), Bound("1/2", "1/1000")])
    Bound(epsilon=Fraction(3, 4), delta=Fraction(1, 1000))
    """
    epsilon, delta = Bound(0).epsilon, Fraction(0)
    for bound in bounds:
        epsilon, delta = epsilon + bound.epsilon, delta + bound.delta
    return Bound(epsilon, min(Fraction(1), delta))


def compose(guarantees: Sequence[Guarantee]) -> Guarantee:
    """Several releases about the same data under *one* policy: per edge, ε and δ add up.

    Never worse than adding headlines, and better where releases spend on different edges.
    Condition: all are about the same units, persons or rows; a guarantee does not say which.
    Source: OSDP Theorem 3.3, ADP-2021 Theorem 6, ADP-2022 Theorem VIII.6.
    Errors: PolicyError for different policies or edges (see :func:`compose_under`);
        ParameterError for none.

    >>> monday = Guarantee("presence", {"present -> not present": 1}, {})
    >>> compose([monday, monday]).epsilon["present -> not present"]
    Fraction(2, 1)
    """
    if not guarantees:
        raise ParameterError("There is nothing to compose.", hint="Give at least one guarantee.")
    first = next((one for one in guarantees if one.made_for), guarantees[0])
    for other in guarantees:
        if not first.same_policy(other) or set(other.epsilon) != set(first.epsilon):
            same = ", whose parameters differ" if other.policy == first.policy else ""
            raise PolicyError(
                f"The guarantees are about different policies: {first.policy!r} with "
                f"{', '.join(first.epsilon)}, and {other.policy!r} with "
                f"{', '.join(other.epsilon)}{same}.",
                hint="An edge's name means something else under another policy. State each "
                "release's loss on the edges of the intersection and use compose_under.",
            )
    tables = [bounds_of(one) for one in guarantees]
    return guarantee(
        first.made_for or first.policy,
        {edge: added(table[edge] for table in tables) for edge in first.epsilon},
    )


def compose_under(policy: Policy, losses: Sequence[Mapping[str, Bound]]) -> Guarantee:
    """Several releases, each made for its own policy, stated together for ``policy``.

    losses: one mapping per release, from the edges *of ``policy``* (by name) to what that release
        promises along them; an edge that a release says nothing of is INFINITE, for then that
        release may tell. Only a move that every release allows is promised anything, which is
        what the intersection of the policies says (OSDP's minimum relaxation, Theorem 3.3; the
        "sum of policies" of ADP-2022 Theorem VIII.6).
    Errors: PolicyError for an edge that ``policy`` does not have.

    >>> from onesided.policy import addition_only
    >>> losses = [{"record -> absent": Bound(1)}, {"record -> absent": Bound(2)}]
    >>> compose_under(addition_only(), losses).headline
    Fraction(3, 1)
    """
    names = [edge.name for edge in policy.edges]
    for table in losses:
        unknown = set(table) - set(names)
        if unknown:
            raise PolicyError(
                f"The policy {policy.name!r} has no edge {min(unknown)!r}.",
                hint=f"Its edges are {', '.join(names)}; state the loss on those.",
            )
    totals = {name: added(bound_on(table, name) for table in losses) for name in names}
    return guarantee(policy, totals)


def parallel(policy: Policy, parts: Sequence[Mapping[str, Bound]]) -> Guarantee:
    """Several releases, each about its own part of the records.

    parts: one mapping per part, from edges of ``policy`` to what the release on that part
        promises. Which part a record belongs to must depend on that record alone, by a rule
        that is public, and every record that a move leads from or to must lie in one of them.

    Records that no release is about are a part as well. A replacement may bring one of them into
    another part, which then gains a record: ``parallel(bounded(), [one])`` is right only if every
    record lies in that part. If not, add a part that loses nothing, with ``Bound(0)`` along every
    edge, ``source -> absent`` and ``absent -> target`` included.

    Along an edge from or to ``absent`` one part changes: the largest bound counts. Along a
    replacement the old record may lie in one part and the new one in another, and *two* parts
    change: one loses a record and one gains it, so those two losses add up -- INFINITE unless
    the parts' releases promise ``source -> absent`` and ``absent -> target`` as well. Source: OSDP
    Theorem 10.2 (extended OSDP, where no move replaces).
    Errors: ParameterError for no parts; PolicyError for a view.

    >>> from onesided.policy import addition_only
    >>> districts = [{"record -> absent": Bound(1)}, {"record -> absent": Bound(3)}]
    >>> parallel(addition_only(), districts).headline
    Fraction(3, 1)
    """
    if not parts:
        raise ParameterError("There are no parts.", hint="Give at least one.")
    if policy.view is not None:
        raise PolicyError(
            f"Under a view by {policy.view.over!r} one move may change records in many parts.",
            hint="Add the losses up with compose_under.",
        )
    known = [{**table} for table in parts]
    edges = {}
    for edge in policy.edges:
        found = [bound_on(table, edge.name) for table in known]
        if any(ABSENT not in way for way in policy.ways(edge)):
            found += [
                added(
                    (
                        bound_on(left, f"{edge.source} -> {ABSENT}"),
                        bound_on(entered, f"{ABSENT} -> {edge.target}"),
                    )
                )
                for left, entered in permutations(known, 2)
            ]
        edges[edge.name] = worst(found)
    return guarantee(policy, edges)
