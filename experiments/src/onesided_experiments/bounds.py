"""Bounds that only papers use: real-valued noise, samples, the virtual optimum, matrices.

ADP-2021 section 2.2 and ADP-2022 section V-A3 call √2/ε the expected absolute error of Laplace
noise. It is the standard deviation; the mean absolute error is 1/ε, the same as that of
uncorrected exponential noise (erratum 6 of docs/papers-errata.md). What one side really gains is
half the variance once the mean is taken out, and ln 2/ε mean absolute error once the median is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, TypeAlias

from onesided.bounds.kit import (
    exact,
    exp_bounds,
    exp_neg,
    exp_up,
    log_up,
    non_negative,
    probability,
    share_below_one,
    short_up,
)
from onesided.errors import ParameterError, PolicyError
from onesided.numbers import INFINITE, Infinite, Loss, Number, positive, strict_share, whole
from onesided.policy import ABSENT, Policy
from onesided_experiments.sampled_noise import Enclosure, SampledNoise

__all__ = [
    "Enclosure", "NoiseAccuracy", "SampledNoise", "attainable_power", "delta_needed_dp",
    "epsilon_needed_adp", "epsilon_needed_dp", "exclusion_freedom", "exponential_noise",
    "geometric_matrix", "laplace_error", "laplace_noise", "post_processing", "power_bound",
    "sampling_crossing", "sampling_error", "sampling_loses", "suppress_freedom",
    "true_positive_adp", "true_positive_dp", "virtual_power",
]  # fmt: skip

Correction = Literal["none", "mean", "median"]


@dataclass(frozen=True, slots=True)
class NoiseAccuracy:
    """In counts and counts squared; irrational numbers are rounded up.

    >>> NoiseAccuracy(mean_absolute=Fraction(1), variance=Fraction(2), bias=Fraction(0)).variance
    Fraction(2, 1)
    """

    mean_absolute: Fraction
    variance: Fraction
    bias: Fraction


def laplace_noise(epsilon: Number) -> NoiseAccuracy:
    """Laplace noise of scale 1/ε: mean absolute error 1/ε, variance 2/ε², no bias.

    >>> laplace_noise("1/2")
    NoiseAccuracy(mean_absolute=Fraction(2, 1), variance=Fraction(8, 1), bias=Fraction(0, 1))
    """
    scale = 1 / positive(epsilon, name="epsilon")
    return NoiseAccuracy(scale, 2 * scale**2, Fraction(0))


def exponential_noise(epsilon: Number, *, correction: Correction = "none") -> NoiseAccuracy:
    """Exponential noise of scale 1/ε, variance 1/ε², with its mean or median taken out, or not.

    Mean absolute error 1/ε as it is, 2/(e ε) about the mean, ln 2/ε about the median; the median
    is what makes it least. Bias 1/ε, 0 and (1 - ln 2)/ε, the size rounded up.
    Errors: ParameterError for an ε that is not above 0, or another correction.

    >>> exponential_noise("1/2").variance, exponential_noise("1/2", correction="mean").bias
    (Fraction(4, 1), Fraction(0, 1))
    """
    scale = 1 / positive(epsilon, name="epsilon")
    if correction == "none":
        return NoiseAccuracy(scale, scale**2, scale)
    if correction == "mean":
        inverse = exp_neg(Fraction(1))[1]
        return NoiseAccuracy(short_up(2 * scale * inverse), scale**2, Fraction(0))
    if correction == "median":
        half = log_up(Fraction(2), bits=96)
        # ln 2 <= half by less than 2^-96, so this is not below the bias.
        bias = short_up(scale * (1 - half + Fraction(1, 2**96)))
        return NoiseAccuracy(short_up(scale * half), scale**2, bias)
    raise ParameterError(
        f"correction must be 'none', 'mean' or 'median', got {correction!r}.",
        hint="Use 'mean' for unbiased answers, 'median' for the least absolute error.",
    )


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


# How often an answer can be certain: limits that no mechanism can pass.
#
# A decision ``q`` is asked of data ``X`` on which it is True. A mechanism is ``(q, alpha,
# beta)``-one-sided when some set ``S`` of outputs has probability at least ``beta`` on ``X`` and
# less than ``alpha`` on every data set where ``q`` is False (ADP-2022, Definition II.6). With
# ``alpha = 0`` the answer "in S" is never wrong, and ``beta`` is the power.
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
# ``from_false`` may exist; INFINITE says that there is no path. ADP-2021 (Definition 14, Theorem 9)
# and ADP-2022 (Proposition IV.7) print the second bound for the first path: erratum 4 of
# docs/bounds.md.
#
# Rounding: powers and needs are rounded up, by less than one part in 2^60.

_ONE = Fraction(1)
_MOST_STEPS = 10**6
_SMALLEST = Fraction(1, 2**2048)


def _path(value: object, *, name: str) -> int | Infinite:
    """A number of moves: whole, from 1 to 10^6, or INFINITE where no path leads.

    Errors: ParameterError for anything else, NaN included.
    """
    if isinstance(value, Infinite):
        return value
    return whole(value, name=name, least=1, most=_MOST_STEPS)


def _growth(epsilon: Fraction, count: int) -> tuple[Fraction, Loss]:
    """``(low, high)`` of ``1 + e^ε + ... + e^((count - 1) ε)``: what a δ grows to over a path."""
    if epsilon == 0:
        return Fraction(count), Fraction(count)
    loss = max(epsilon, _SMALLEST)
    (low, high), (below, above) = exp_bounds(loss * count), exp_bounds(loss)
    if isinstance(high, Infinite) or isinstance(above, Infinite):
        # The largest term alone is a lower bound.
        return exp_bounds(loss * (count - 1))[0], INFINITE
    if loss != epsilon:
        return Fraction(count), (high - 1) / (below - 1)
    return max(Fraction(count), (low - 1) / (above - 1)), (high - 1) / (below - 1)


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
    here, back = _path(to_false, name="to_false"), _path(from_false, name="from_false")
    best = _ONE
    if not isinstance(here, Infinite):
        best = min(best, _grown(wrong, loss, slack, here))
    if not isinstance(back, Infinite):
        hidden = max(Fraction(0), 1 - wrong - _times(slack, _growth(loss, back)[1]))
        best = min(best, short_up(1 - exp_bounds(-loss * back)[0] * hidden))
    return best


def _grown(wrong: Fraction, loss: Fraction, slack: Fraction, path: int) -> Fraction:
    """``alpha e^(k ε) + δ Σ``, rounded up; at most 1."""
    total = _times(wrong, exp_up(loss * path)) + _times(slack, _growth(loss, path)[1])
    return min(_ONE, short_up(total))


def _times(share: Fraction, factor: Loss) -> Fraction:
    """``share * factor``; 1 stands for anything above 1, INFINITE included."""
    if share == 0:
        return share
    return _ONE if isinstance(factor, Infinite) else min(_ONE, share * factor)


# What a certain answer needs.


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
    path = _path(to_false, name="to_false")
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
    loss, path = non_negative(epsilon, name="epsilon"), _path(to_false, name="to_false")
    if isinstance(path, Infinite):
        return Fraction(0)
    short = power - wrong * exp_bounds(loss * path)[0]
    return short_up(short / _growth(loss, path)[0]) if short > 0 else Fraction(0)


def epsilon_needed_adp(alpha: Number, beta: Number, *, from_false: int | Infinite) -> Loss:
    """An asymmetric policy needs ``ε >= ln((1 - alpha) / (1 - beta)) / k``.

    INFINITE for ``beta = 1``. Source: ADP-2022 Proposition IV.7, its path turned round.

    >>> round(float(epsilon_needed_adp(0, "1/2", from_false=1)), 4)
    0.6931
    """
    wrong, power = share_below_one(alpha, name="alpha"), probability(beta, name="beta")
    path = _path(from_false, name="from_false")
    if power <= wrong or isinstance(path, Infinite):
        return Fraction(0)
    return INFINITE if power == 1 else log_up((1 - wrong) / (1 - power), bits=96) / path


# The best that symmetric (ε, δ)-privacy could possibly do: the competitor of ADP-2022.


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
    path = _path(to_false, name="to_false")
    if isinstance(path, Infinite):
        return Fraction(1)
    rate, shrink = exp_bounds(loss)[1], exp_bounds(-loss)[0]
    for _ in range(path):
        grown = Fraction(1) if isinstance(rate, Infinite) else rate * share + slack
        if share == 0:
            grown = slack
        following = short_up(
            min(Fraction(1), grown, 1 - shrink * max(Fraction(0), 1 - share - slack))
        )
        if following == share:
            break
        share = following
    return share


# Freedom from exclusion attacks: how far leaving somebody out can give them away.


def exclusion_freedom(
    policy: Policy, losses: Mapping[str, Loss], *, protected: Sequence[str] = ("sensitive",)
) -> Loss:
    """φ: an observer's odds that a protected record is one value rather than another grow by e^φ.

    The largest loss over the edges from protected kinds to *every* kind of record, as given by
    name (a pure ``Guarantee.epsilon``); INFINITE if the policy has no such edge or no loss is
    given for it. ε for a mechanism that keeps (ε, P)-OSDP.
    Direction: only from the protected record; the observer's prior must treat records as
    independent. Source: OSDP Definition 3.4, Theorem 3.1.
    Errors: PolicyError for a kind that the policy does not have, and for a view.

    >>> from onesided.policy import sensitive
    >>> policy = sensitive("minor")
    >>> exclusion_freedom(policy, {edge.name: 1 for edge in policy.edges})
    1
    """
    unknown = set(protected) - set(policy.kinds)
    if unknown or not protected:
        raise PolicyError(
            f"The policy {policy.name!r} has no kind {min(unknown, default='')!r}.",
            hint=f"Its kinds are {', '.join(policy.kinds)}.",
        )
    if policy.view is not None:
        raise PolicyError(
            f"Under a view a record stays in its {policy.view.over}, so it cannot pass as one of "
            "another, and φ is infinite.",
            hint=f"Take unit={policy.view.over!r} and sensitive(...).",
        )
    present = [kind for kind in policy.kinds if kind != ABSENT]
    known = {(edge.source, edge.target): edge.name for edge in policy.edges}
    found = [
        losses.get(known.get((source, target), ""), INFINITE)
        for source in protected
        for target in present
    ]
    return max(found)


def suppress_freedom(threshold: Loss | Number) -> Loss:
    """φ = τ for the Suppress algorithm of personalised privacy; INFINITE for τ = ∞.

    Suppress drops every record that asks for less than τ and runs a τ-private computation on the
    rest. Leaving the protected record out is what an observer may notice, at e^τ, however
    small an ε the record asked for.
    Two conditions that the paper leaves unsaid (tests/bounds/test_exclusion.py): the
    protected record does ask for less than τ, and the computation is τ-private for *adding and
    removing* records; with replacement only, its size may tell and φ is infinite.
    Source: OSDP Theorem 3.4.

    >>> suppress_freedom(2)
    Fraction(2, 1)
    """
    if isinstance(threshold, Infinite):
        return threshold
    return non_negative(threshold, name="threshold")


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


# One-sided geometric noise is the best there is: everything else is made from it.
#
# A mechanism that sees a count in 0 .. n is a matrix, ``matrix[i][j] = Pr[answer j | count i]``.
# Under a policy whose moves lower the count by one at loss ε it must satisfy, for every i and j,
# ``matrix[i + 1][j] <= e^ε matrix[i][j]`` and nothing else.
#
# Theorem. With ``p = e^-ε`` and ``A`` the matrix of ``min(count + G, n)``, a matrix ``M`` keeps
# that promise **iff** ``M = A T`` for a stochastic ``T``: every mechanism is one-sided geometric
# noise and then something that no longer sees the data.
#
# Proof. Row i of A is ``A_i = (1 - p) e_i + p A_{i+1}`` for i < n (either G = 0, or one step has
# been taken and the rest is again geometric), and ``A_n = e_n``. So A can be inverted: ``T = A^-1
# M`` has the rows ``T_i = (M_i - p M_{i+1}) / (1 - p)`` and ``T_n = M_n``. Each sums to 1, and none
# has a negative entry iff M keeps its promise. The other way round is post-processing.
#
# This is what ADP-2022 Theorem VIII.3 should say. As printed (no T, any prior, any loss that grows
# with the distance) it does not hold: see docs/papers-errata.md and tests/test_optimal.py.

Matrix: TypeAlias = tuple[tuple[Fraction, ...], ...]


def geometric_matrix(largest: int, *, ratio: Number) -> Matrix:
    """The matrix of ``min(count + G, largest)``, with ``ratio = e^-ε`` in (0, 1).

    Source: ADP-2022 Definition VIII.1, which gives the mass at the end twice (erratum 11): it is
    ``ratio^(largest - count)``, everything that was clamped.

    >>> [str(share) for share in geometric_matrix(2, ratio="1/2")[0]]
    ['1/2', '1/4', '1/4']
    """
    n, p = whole(largest, name="largest", least=1, most=4096), _ratio(ratio)
    rows = []
    for count in range(n + 1):
        inside = [(1 - p) * p ** (answer - count) for answer in range(count, n)]
        rows.append((*([Fraction(0)] * count), *inside, p ** (n - count)))
    return tuple(rows)


def post_processing(matrix: Sequence[Sequence[Number]], *, ratio: Number) -> Matrix | None:
    """The ``T`` with ``matrix = geometric_matrix(n, ratio) T``; None if the matrix breaks ε.

    Exact. A mechanism whose moves *raise* the count is handled by reversing its rows.
    Errors: ParameterError for rows that are not distributions over the same answers.

    >>> rough = [["1/2", "1/2"], [0, 1]]
    >>> post_processing(rough, ratio="1/2")[0]
    (Fraction(1, 1), Fraction(0, 1))
    >>> post_processing([[1, 0], [0, 1]], ratio="1/2") is None
    True
    """
    rows, p = _rows(matrix), _ratio(ratio)
    made = [
        tuple((x - p * y) / (1 - p) for x, y in zip(one, two, strict=True))
        for one, two in pairwise(rows)
    ]
    made.append(rows[-1])
    return None if any(x < 0 for row in made for x in row) else tuple(made)


def _ratio(value: Number) -> Fraction:
    hint = "It is e^-ε, for example 1/2 for ε = ln 2."
    return strict_share(value, name="ratio", hint=hint)


def _rows(matrix: Sequence[Sequence[Number]]) -> Matrix:
    rows = tuple(tuple(exact(x, name="probability") for x in row) for row in matrix)
    right = rows and all(
        len(row) == len(rows[0]) and sum(row) == 1 and all(x >= 0 for x in row) for row in rows
    )
    if right:
        return rows
    raise ParameterError(
        "Each row of a mechanism's matrix must hold probabilities that sum to exactly 1.",
        hint="Use fractions; all rows list the same answers.",
    )
