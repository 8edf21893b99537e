"""How often an answer can be certain: limits that no mechanism can pass.

A decision ``q`` is asked of data ``X`` on which it is True. A mechanism is
``(q, alpha, beta)``-one-sided when some set ``S`` of outputs has probability at least ``beta`` on
``X`` and less than ``alpha`` on every data set where ``q`` is False (ADP-2022, Definition II.6).
With ``alpha = 0`` the answer "in S" is never wrong, and ``beta`` is the power.

Direction. Two kinds of paths limit ``beta``, and they must not be mixed up:

* ``to_false``: the fewest moves *from* ``X`` *to* a data set where ``q`` is False. ``X`` must be
  able to pass as that, so what is rare there is rare here: ``beta <= alpha e^(k ε) + δ Σ``.
* ``from_false``: the fewest moves *to* ``X`` *from* a data set where ``q`` is False. That must be
  able to pass as ``X``, so the outputs outside S, nearly certain there, are likely here:
  ``1 - alpha <= e^(k ε) (1 - beta) + δ Σ``.

Under symmetric privacy both paths exist and are equally long. Under an asymmetric policy only
``from_false`` may exist; INFINITE says that there is no path. ADP-2021 (Definition 14, Theorem 9)
and ADP-2022 (Proposition IV.7) print the second bound for the first path: erratum 4 of
docs/bounds.md.

Rounding: powers and needs are rounded up, by less than one part in 2^60.
"""

from __future__ import annotations

from fractions import Fraction

from onesided._numbers import INFINITE, Infinite, Loss, Number, log_up, non_negative, probability
from onesided.bounds._directed_rounding import exp_bounds, exp_up, growth, short_up, steps
from onesided.errors import ParameterError

ONE = Fraction(1)


def share_below_one(value: object, *, name: str) -> Fraction:
    """A share in [0, 1).

    >>> share_below_one("1/3", name="p")
    Fraction(1, 3)
    """
    number = probability(value, name=name)
    if number < 1:
        return number
    raise ParameterError(
        f"{name} must be below 1, got {value!r}.", hint="Give a share in [0, 1).", value=value
    )


def power_bound(
    alpha: Number,
    *,
    epsilon: Number,
    delta: Number = 0,
    to_false: int | Infinite = INFINITE,
    from_false: int | Infinite = INFINITE,
) -> Fraction:
    """The most power ``beta`` that any mechanism can have, from both kinds of paths.

    epsilon, delta: what each move of either path costs. At most 1.
    Source: the two inequalities of this module; ADP-2022 (5), (8) and Proposition IV.7.
    Errors: ParameterError for NaN, a negative ε, δ or alpha outside [0, 1] and paths below 1.

    >>> power_bound(0, epsilon=1, to_false=5)
    Fraction(0, 1)
    >>> round(float(power_bound(0, epsilon=1, from_false=5)), 4)
    0.9933
    """
    wrong = probability(alpha, name="alpha")
    loss, slack = non_negative(epsilon, name="epsilon"), probability(delta, name="delta")
    here, back = steps(to_false, name="to_false"), steps(from_false, name="from_false")
    best = ONE
    if not isinstance(here, Infinite):
        best = min(best, _grown(wrong, loss, slack, here))
    if not isinstance(back, Infinite):
        hidden = max(Fraction(0), 1 - wrong - _times(slack, growth(loss, back)[1]))
        best = min(best, short_up(1 - exp_bounds(-loss * back)[0] * hidden))
    return best


def true_positive_dp(*, epsilon: Number, delta: Number, to_false: int | Infinite) -> Fraction:
    """The most power of a certain answer under (ε, δ)-DP: ``min(1, δ Σ_{i=1..k} e^((i-1) ε))``.

    Source: ADP-2021 section 4.2; ADP-2022 (8) with alpha = 0. With δ = 0 it is 0: under pure
    differential privacy nothing is certain.

    >>> true_positive_dp(epsilon=1, delta=0, to_false=4)
    Fraction(0, 1)
    """
    return power_bound(0, epsilon=epsilon, delta=delta, to_false=to_false)


def true_positive_adp(*, epsilon: Number, from_false: int | Infinite) -> Fraction:
    """The most power of a certain answer under an asymmetric policy: ``1 - e^(-k ε)``.

    Source: ADP-2021 Theorem 9 with its path turned round (erratum 4). ``mechanism.AtMost`` meets
    it exactly: a count f <= t has ``from_false = t + 1 - f``.

    >>> round(float(true_positive_adp(epsilon="1/2", from_false=2)), 4)
    0.6321
    """
    return power_bound(0, epsilon=epsilon, from_false=from_false)


def epsilon_needed_dp(alpha: Number, beta: Number, *, to_false: int | Infinite) -> Loss:
    """ε-DP can be ``(q, alpha, beta)``-one-sided only if ε exceeds ``ln(beta / alpha) / k``.

    INFINITE for ``alpha = 0``; 0 where nothing is needed. Source: ADP-2022 (7); section III-C
    prints the fraction upside down (erratum 5).

    >>> epsilon_needed_dp(0, "1/2", to_false=3)
    INFINITE
    """
    wrong, power = probability(alpha, name="alpha"), probability(beta, name="beta")
    path = steps(to_false, name="to_false")
    if power <= wrong or isinstance(path, Infinite):
        return Fraction(0)
    return INFINITE if wrong == 0 else log_up(power / wrong, bits=96) / path


def delta_needed_dp(
    alpha: Number, beta: Number, *, epsilon: Number, to_false: int | Infinite
) -> Fraction:
    """(ε, δ)-DP needs δ above ``(beta - alpha e^(k ε)) / Σ_{i=1..k} e^((i-1) ε)``; at least 0.

    Source: ADP-2022 (9).

    >>> delta_needed_dp(0, "1/2", epsilon=0, to_false=1)
    Fraction(1, 2)
    """
    wrong, power = probability(alpha, name="alpha"), probability(beta, name="beta")
    loss, path = non_negative(epsilon, name="epsilon"), steps(to_false, name="to_false")
    if isinstance(path, Infinite):
        return Fraction(0)
    short = power - wrong * exp_bounds(loss * path)[0]
    return short_up(short / growth(loss, path)[0]) if short > 0 else Fraction(0)


def epsilon_needed_adp(alpha: Number, beta: Number, *, from_false: int | Infinite) -> Loss:
    """An asymmetric policy needs ``ε >= ln((1 - alpha) / (1 - beta)) / k``.

    INFINITE for ``beta = 1``. Source: ADP-2022 Proposition IV.7, its path turned round.

    >>> round(float(epsilon_needed_adp(0, "1/2", from_false=1)), 4)
    0.6931
    """
    wrong, power = share_below_one(alpha, name="alpha"), probability(beta, name="beta")
    path = steps(from_false, name="from_false")
    if power <= wrong or isinstance(path, Infinite):
        return Fraction(0)
    return INFINITE if power == 1 else log_up((1 - wrong) / (1 - power), bits=96) / path


def _grown(wrong: Fraction, loss: Fraction, slack: Fraction, path: int) -> Fraction:
    """``alpha e^(k ε) + δ Σ``, rounded up; at most 1."""
    total = _times(wrong, exp_up(loss * path)) + _times(slack, growth(loss, path)[1])
    return min(ONE, short_up(total))


def _times(share: Fraction, factor: Loss) -> Fraction:
    """``share * factor``; 1 stands for anything above 1, INFINITE included."""
    if share == 0:
        return share
    return ONE if isinstance(factor, Infinite) else min(ONE, share * factor)
