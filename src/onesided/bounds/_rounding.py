"""Risks of one record in figures that are rounded against us."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from onesided._numbers import (
    INFINITE,
    Infinite,
    Loss,
    Number,
    exp_neg_bounds,
    log_up,
    non_negative,
    positive,
    probability,
    whole,
)
from onesided.errors import ParameterError

# The exponential function between two fractions, and fractions cut to a readable length.
#
# Every number of ``onesided.bounds`` and ``onesided.accounting`` is rounded one way only; the two
# ends here differ by less than one part in 2^90.


_BITS: Final = 128
_DIGITS: Final = 96
# Beyond this e^x is taken as INFINITE and e^-x as 0 from below: 10^889 decides nothing.
_LARGEST: Final = 2048
_SMALLEST: Final = Fraction(1, 2**2048)
MOST_STEPS: Final = 10**6


def exp_neg(size: Fraction) -> tuple[Fraction, Fraction]:
    """``(low, high)`` with ``low <= e^-size <= high``, for ``size >= 0``; 0 above 2048.

    >>> low, high = exp_neg(Fraction(1))
    >>> float(low), 0 < high - low < Fraction(1, 2**90)
    (0.36787944117144233, True)
    """
    if size > _LARGEST:
        return Fraction(0), exp_neg_bounds(Fraction(_LARGEST), bits=_BITS + 2 * _LARGEST)[1]
    # Two bits for each nat, and as many as a small exponent has zeros after the point.
    small = max(0, size.denominator.bit_length() - size.numerator.bit_length())
    return exp_neg_bounds(size, bits=_BITS + 2 * int(size) + min(small, 2 * _LARGEST))


def exp_bounds(exponent: Fraction) -> tuple[Fraction, Loss]:
    """``(low, high)`` with ``low <= e^exponent <= high``, for any sign.

    ``high`` is INFINITE for exponents above 2048; ``low`` is 0 for exponents below -2048.

    >>> low, high = exp_bounds(Fraction(1))
    >>> low < high, float(low), exp_bounds(Fraction(0))[0] <= 1
    (True, 2.718281828459045, True)
    """
    low, high = exp_neg(abs(exponent))
    if exponent <= 0:
        return low, high
    return 1 / high, 1 / low if low else INFINITE


def exp_down(exponent: Fraction) -> Fraction:
    """At most ``e^exponent``, by less than one part in 2^90 (0 below -2048)."""
    return exp_bounds(exponent)[0]


def exp_up(exponent: Loss) -> Loss:
    """At least ``e^exponent``, by less than one part in 2^90 (INFINITE above 2048)."""
    return exponent if isinstance(exponent, Infinite) else exp_bounds(exponent)[1]


def short_up(number: Fraction) -> Fraction:
    """``number`` if it is short, else the least fraction of 96 significant bits above it.

    >>> third = Fraction(10**40, 3 * 10**40 + 1)
    >>> short_up(third) > third, short_up(Fraction(1, 2))
    (True, Fraction(1, 2))
    """
    if number.denominator.bit_length() <= _DIGITS:
        return number
    return -_short_down(-number) if number < 0 else _short(number, up=True)


def _short_down(number: Fraction) -> Fraction:
    return _short(number, up=False)


def _short(number: Fraction, *, up: bool) -> Fraction:
    if number == 0:
        return number
    places = _DIGITS - number.numerator.bit_length() + number.denominator.bit_length()
    scaled = number * Fraction(2) ** places
    cut = -(-scaled.numerator // scaled.denominator) if up else int(scaled)
    return cut / Fraction(2) ** places


def steps(value: object, *, name: str) -> int | Infinite:
    """A number of moves: whole, from 1 to 10^6, or INFINITE where no path leads.

    Errors: ParameterError for anything else, NaN included.
    """
    if isinstance(value, Infinite):
        return value
    return whole(value, name=name, least=1, most=MOST_STEPS)


def growth(epsilon: Fraction, count: int) -> tuple[Fraction, Loss]:
    """``(low, high)`` of ``1 + e^ε + ... + e^((count - 1) ε)``: what a δ grows to over a path."""
    if epsilon == 0:
        return Fraction(count), Fraction(count)
    loss = max(epsilon, _SMALLEST)
    (low, high), (below, above) = exp_bounds(loss * count), exp_bounds(loss)
    if isinstance(high, Infinite) or isinstance(above, Infinite):
        # The largest term alone is a lower bound.
        return exp_down(loss * (count - 1)), INFINITE
    if loss != epsilon:
        return Fraction(count), (high - 1) / (below - 1)
    return max(Fraction(count), (low - 1) / (above - 1)), (high - 1) / (below - 1)


# How often an answer can be certain: limits that no mechanism can pass.
#
# A decision ``q`` is asked of data ``X`` on which it is True. A mechanism is
# ``(q, alpha, beta)``-one-sided when some set ``S`` of outputs has probability at least ``beta``
# on
# ``X`` and less than ``alpha`` on every data set where ``q`` is False (ADP-2022, Definition II.6).
# With ``alpha = 0`` the answer "in S" is never wrong, and ``beta`` is the power.
#
# Direction. Two kinds of paths limit ``beta``, and they must not be mixed up:
#
# * ``to_false``: the fewest moves *from* ``X`` *to* a data set where ``q`` is False. ``X`` must be
#   able to pass as that, so what is rare there is rare here: ``beta <= alpha e^(k ε) + δ Σ``.
# * ``from_false``: the fewest moves *to* ``X`` *from* a data set where ``q`` is False. That must
# be
#   able to pass as ``X``, so the outputs outside S, nearly certain there, are likely here:
#   ``1 - alpha <= e^(k ε) (1 - beta) + δ Σ``.
#
# Under symmetric privacy both paths exist and are equally long. Under an asymmetric policy only
# ``from_false`` may exist; INFINITE says that there is no path. ADP-2021 (Definition 14, Theorem
# 9)
# and ADP-2022 (Proposition IV.7) print the second bound for the first path: erratum 4 of
# docs/bounds.md.
#
# Rounding: powers and needs are rounded up, by less than one part in 2^60.

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


# The best that symmetric (ε, δ)-privacy could possibly do: the competitor of ADP-2022.


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


# When publishing a sample of open records is worse than noise on all of them.


def sampling_error(records: int, *, epsilon: Number, sensitive: int = 0) -> Fraction:
    """Expected L1 error of a histogram of the true-record sample, rounded up, in records.

    ``sensitive + (records - sensitive) e^-ε``: protected records are all missing, each open one
    with probability e^-ε. Source: OSDP Algorithm 1 and the proof of Theorem 5.1.

    >>> round(float(sampling_error(100, epsilon=1, sensitive=40)), 2)
    62.07
    """
    total = whole(records, name="records")
    hidden = whole(sensitive, name="sensitive", most=total)
    missed = exp_neg(positive(epsilon, name="epsilon"))[1]
    return short_up(hidden + (total - hidden) * missed)


def laplace_error(bins: int, *, epsilon: Number) -> Fraction:
    """Expected L1 error of Laplace noise on a histogram under bounded DP: ``2 d / ε``, exact.

    >>> laplace_error(10, epsilon="1/2")
    Fraction(40, 1)
    """
    return 2 * whole(bins, name="bins", least=1) / positive(epsilon, name="epsilon")


def sampling_loses(records: int, *, bins: int, epsilon: Number) -> bool:
    """Whether ``n ε > 2 d e^ε``, so that the sample's L1 error is above that of Laplace noise.

    Even with no protected record at all. True is certain; a case within one part in 2^90 of
    equality gives False. Source: OSDP Theorem 5.1.

    >>> sampling_loses(1_000, bins=10, epsilon="1/2")
    True
    """
    loss = positive(epsilon, name="epsilon")
    kept = whole(records, name="records") * exp_neg(loss)[0]
    return kept > laplace_error(bins, epsilon=loss)


def sampling_crossing(*, bins: int, epsilon: Number) -> int:
    """The least number of records at which :func:`sampling_loses`.

    Errors: ParameterError for ε above 2048, where it would not fit any table.

    >>> least = sampling_crossing(bins=10, epsilon=1)
    >>> sampling_loses(least, bins=10, epsilon=1), sampling_loses(least - 1, bins=10, epsilon=1)
    (True, False)
    """
    loss = positive(epsilon, name="epsilon")
    kept = exp_neg(loss)[0]
    if kept == 0:
        raise ParameterError(
            f"epsilon must be at most 2048, got {epsilon!r}.", hint="No table is that large."
        )
    return int(laplace_error(bins, epsilon=loss) / kept) + 1
