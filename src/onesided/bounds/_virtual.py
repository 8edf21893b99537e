"""The best that symmetric (ε, δ)-privacy could possibly do: the competitor of ADP-2022."""

from __future__ import annotations

from fractions import Fraction

from onesided._numbers import Infinite, Number, non_negative, probability
from onesided.bounds._directed_rounding import exp_bounds, short_up, steps
from onesided.bounds._one_sided import ONE, power_bound


def virtual_power(
    alpha: Number, *, epsilon: Number, delta: Number, to_false: int | Infinite
) -> Fraction:
    """``min(1, alpha e^(k ε) + δ Σ)``: the virtual mechanism "optimal for (9)" of ADP-2022, VI-A.

    No (ε, δ)-DP mechanism does better, and for long paths none does as well: see
    :func:`attainable_power`.

    >>> terms = {"epsilon": 1, "delta": "1/100", "to_false": 9}
    >>> virtual_power(0, **terms) >= attainable_power(0, **terms)
    True
    """
    return power_bound(alpha, epsilon=epsilon, delta=delta, to_false=to_false)


def attainable_power(
    alpha: Number, *, epsilon: Number, delta: Number, to_false: int | Infinite
) -> Fraction:
    """The power that the best (ε, δ)-DP decision really has, ``to_false`` moves inside.

    Move by move, in both directions at once (``b`` is the share answered True so far)::

        b  <-  min(1,  e^ε b + δ,  1 - e^-ε (1 - b - δ))

    No (ε, δ)-DP mechanism beats it, by induction over the path since each step is monotone in
    ``b``; and answering True with probability ``b_i`` at distance ``i`` is (ε, δ)-DP, so it is
    attained. Never above :func:`virtual_power`. Rounded up.

    >>> round(float(attainable_power(0, epsilon=1, delta="1/100", to_false=2)), 4)
    0.0372
    """
    share = probability(alpha, name="alpha")
    loss, slack = non_negative(epsilon, name="epsilon"), probability(delta, name="delta")
    path = steps(to_false, name="to_false")
    if isinstance(path, Infinite):
        return ONE
    rate, shrink = exp_bounds(loss)[1], exp_bounds(-loss)[0]
    for _ in range(path):
        grown = ONE if isinstance(rate, Infinite) else rate * share + slack
        if share == 0:
            grown = slack
        following = short_up(min(ONE, grown, 1 - shrink * max(Fraction(0), 1 - share - slack)))
        if following == share:
            break
        share = following
    return share
