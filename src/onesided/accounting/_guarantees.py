"""One promise along one edge, and what follows from it without looking at any mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from onesided._numbers import INFINITE, Infinite, Loss, Number, exact, probability
from onesided.bounds.kit import exp_bounds, short_up
from onesided.fields import Exact, Field
from onesided.policy import Guarantee, Policy


def _loss(value: Loss | Number, *, name: str) -> Loss:
    return value if isinstance(value, Infinite) else exact(value, name=name)


@dataclass(frozen=True)
class Bound:
    """``Pr[M(X) in S] <= e^epsilon Pr[M(Y) in S] + delta`` for each move X -> Y of one edge, all S.

    Direction: from X to Y only. ``epsilon`` is in nats and may be negative, see :func:`reverse`;
    INFINITE or ``delta = 1`` promise nothing.
    Errors: ParameterError for NaN, or a δ outside [0, 1].

    >>> from onesided.accounting import Bound
    >>> Bound("1/2", "1/1000").epsilon
    Fraction(1, 2)
    """

    epsilon: Field[Loss | Number, Loss] = Field(_loss)
    delta: Exact = Field(probability, default=0)


NOTHING = Bound(INFINITE, 1)


def worst(bounds: Iterable[Bound]) -> Bound:
    """The largest ε and the largest δ: a promise that all of ``bounds`` imply; NOTHING of none.

    >>> worst([Bound(1), Bound(0, "1/8")])
    Bound(epsilon=Fraction(1, 1), delta=Fraction(1, 8))
    """
    found = list(bounds)
    if not found:
        return NOTHING
    return Bound(max(one.epsilon for one in found), max(one.delta for one in found))


def along_path(bounds: Iterable[Bound]) -> Bound:
    """What holds from the first to the last data set of a path, one bound for each of its moves.

    ``ε = Σ ε_i`` and ``δ = Σ e^(ε_1 + ... + ε_{i-1}) δ_i``: put each inequality into the last.
    δ is rounded up, by less than one part in 2^60, and is at most 1.

    >>> along_path([Bound("1/2"), Bound("1/2")])
    Bound(epsilon=Fraction(1, 1), delta=Fraction(0, 1))
    >>> along_path([Bound(0, "1/8"), Bound(0, "1/8")]).delta
    Fraction(1, 4)
    """
    epsilon, delta, free = Fraction(0), Fraction(0), True
    for bound in bounds:
        if bound.delta:
            grown = exp_bounds(epsilon)[1]
            free = free and not isinstance(grown, Infinite)
            delta += 0 if isinstance(grown, Infinite) else grown * bound.delta
        if isinstance(bound.epsilon, Infinite):
            return NOTHING
        epsilon += bound.epsilon
    return Bound(epsilon, min(Fraction(1), short_up(delta))) if free else Bound(epsilon, 1)


def reverse(bound: Bound) -> Bound:
    """The same promise read the other way: (ε, δ) from X to Y gives (-ε, 1 - e^-ε (1 - δ)) back.

    Applied to the outputs *not* in S and rearranged. Removal-only (ε, δ) is so the same as
    addition-only (-ε, 1 - e^-ε + e^-ε δ), and back: twice is where one started. It promises little
    (δ is near ε for small ε); it does not turn one direction into two.
    Rounding: δ up, by less than 2^-90. Source: one-sided note, after Definition 2.

    >>> back = reverse(Bound(1))
    >>> back.epsilon, round(float(back.delta), 4)
    (Fraction(-1, 1), 0.6321)
    """
    if isinstance(bound.epsilon, Infinite):
        return Bound(0, 1)
    kept = exp_bounds(-bound.epsilon)[0] * (1 - bound.delta)
    return Bound(-bound.epsilon, min(Fraction(1), max(Fraction(0), short_up(1 - kept))))


# Between guarantees, which speak of many edges, and bounds, which speak of one.


def guarantee(policy: Policy | str, bounds: Mapping[str, Bound]) -> Guarantee:
    """A guarantee from one bound per edge name; of a policy, or of any policy of that name.

    >>> print(guarantee("presence", {"present -> not present": Bound(1, "1/1000")}))
    Under the policy 'presence' -- present -> not present: ε = 1, δ = 0.001.
    """
    known = None if isinstance(policy, str) else policy
    return Guarantee(
        policy if isinstance(policy, str) else policy.name,
        {edge: bound.epsilon for edge, bound in bounds.items()},
        {edge: bound.delta for edge, bound in bounds.items() if bound.delta},
        made_for=known,
    )


def bounds_of(promise: Guarantee) -> dict[str, Bound]:
    """One bound per edge name.

    >>> bounds_of(Guarantee("presence", {"present -> not present": 1}, {}))
    {'present -> not present': Bound(epsilon=Fraction(1, 1), delta=Fraction(0, 1))}
    """
    return {
        edge: Bound(loss, promise.delta.get(edge, Fraction(0)))
        for edge, loss in promise.epsilon.items()
    }


def bound_on(promise: Mapping[str, Bound], edge: str) -> Bound:
    """What is promised on an edge; nothing at all where nothing is said."""
    return promise.get(edge, NOTHING)
