"""What sampling records first does to a promise, each direction by its own law.

Each record is kept independently with probability ``p`` (Poisson sampling). With a record, the
mechanism sees it with probability p; without it, never. Proofs: docs/conversions.md.
Rounding: ε and δ up, by less than one part in 2^60.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from onesided._numbers import Infinite, Loss, Number, log_up, positive
from onesided.accounting._bound import NOTHING, Bound
from onesided.accounting._convert import two_sided
from onesided.bounds.kit import exp_bounds, exp_neg, share_below_one, short_up
from onesided.errors import ParameterError
from onesided.policy import Guarantee


def sampling_removal(p: Number) -> Bound:
    """Sampling alone, along ``absent -> record``: ``-ln(1 - p)``, δ = 0.

    Removal-only: a kept record is published as it is, so along ``record -> absent`` the loss is
    infinite (:func:`sampling_addition`). Source: one-sided note, Theorem 5; the same number is
    OSDP Algorithm 1 along ``sensitive -> open``.

    >>> round(float(sampling_removal("1/2").epsilon), 4), sampling_removal("1/2").delta
    (0.6931, Fraction(0, 1))
    """
    return Bound(log_up(1 / (1 - share_below_one(p, name="p")), bits=96))


def sampling_addition(p: Number) -> Bound:
    """Sampling alone, along ``record -> absent``: nothing but (0, p), the chance of being kept.

    >>> sampling_addition("1/100")
    Bound(epsilon=Fraction(0, 1), delta=Fraction(1, 100))
    """
    return Bound(0, share_below_one(p, name="p"))


def amplify_addition(bound: Bound, *, p: Number) -> Bound:
    """Along ``record -> absent``: (ε, δ) becomes (ln(1 + p (e^ε - 1)), p δ).

    Source: one-sided note, before Theorem 5.
    Errors: ParameterError for p outside [0, 1) or a negative ε.

    >>> round(float(amplify_addition(Bound(1), p="1/10").epsilon), 4)
    0.1586
    """
    share = share_below_one(p, name="p")
    epsilon = _size(bound)
    if isinstance(epsilon, Infinite):
        return Bound(0, share)
    grown = exp_bounds(epsilon)[1]
    if isinstance(grown, Infinite):
        return Bound(epsilon, share * bound.delta)
    return Bound(log_up(1 + share * (grown - 1), bits=96), share * bound.delta)


def amplify_removal(bound: Bound, *, p: Number) -> Bound:
    """Along ``absent -> record``: (ε, δ) becomes ``(-ln r, p e^-ε δ / r)``, ``r = 1 - p + p e^-ε``.

    Never above ``-ln(1 - p)``, the loss of sampling alone, even for a mechanism that promises
    nothing (ε = ∞); never above the addition law at the same ε. Tight for every ε, δ and p.
    Ours: the one-sided note states the case ε = ∞ (Theorem 5) only.
    Errors: ParameterError for p outside [0, 1) or a negative ε.

    >>> round(float(amplify_removal(NOTHING, p="1/2").epsilon), 4)
    0.6931
    """
    share = share_below_one(p, name="p")
    epsilon = _size(bound)
    if isinstance(epsilon, Infinite):
        return sampling_removal(share)
    low, high = exp_neg(epsilon)
    least = 1 - share + share * low
    return Bound(log_up(1 / least, bits=96), short_up(share * high * bound.delta / least))


def amplify_replacement(
    *, replace: Bound, addition: Loss | Number | None = None, p: Number
) -> Bound:
    """Along ``record -> record``: from the replacement promise *alone* sampling gains no ε at all.

    (ε, δ) becomes (ε, p δ), and no less: nothing says that the mechanism answers alike without
    the record. If it also keeps ``addition`` (pure, along ``record -> absent``) then, for δ = 0,
    ``ε' = ln((p + (1-p) e^-a) / (p e^-ε + (1-p) e^-a))``.
    Errors: ParameterError for p outside [0, 1), a negative ε, or a δ given together with addition.

    >>> amplify_replacement(replace=Bound(1, "1/1000"), p="1/10")
    Bound(epsilon=Fraction(1, 1), delta=Fraction(1, 10000))
    """
    share, epsilon = share_below_one(p, name="p"), _size(replace)
    if isinstance(epsilon, Infinite):
        return Bound(0, share)
    if addition is None or isinstance(addition, Infinite):
        return Bound(epsilon, share * replace.delta)
    if replace.delta:
        raise ParameterError(
            "A δ along the replacement cannot be amplified together with an addition promise.",
            hint="Leave addition out; the δ is then multiplied by p.",
            delta=replace.delta,
        )
    (low, high), (less, more) = exp_neg(epsilon), exp_neg(positive(addition, name="addition"))
    # Falls as either e^-ε or e^-a grows.
    del high, more
    return Bound(
        min(epsilon, log_up((share + (1 - share) * less) / (share * low + (1 - share) * less)))
    )


def two_sided_by_sampling(addition: Bound, *, p: Number) -> Guarantee:
    """Addition-only privacy after sampling is unbounded DP, edge by edge.

    ``record -> absent`` by :func:`amplify_addition`; ``absent -> record`` at -ln(1 - p) and δ = 0.
    The headline is max(-ln(1 - p), ln(1 + p (e^ε - 1))). Source: one-sided note, Theorem 6.

    >>> both = two_sided_by_sampling(Bound(1), p="1/2")
    >>> {edge: round(float(loss), 4) for edge, loss in both.epsilon.items()}
    {'record -> absent': 0.6201, 'absent -> record': 0.6931}
    """
    return two_sided(
        addition=amplify_addition(addition, p=p), removal=amplify_removal(NOTHING, p=p)
    )


@dataclass(frozen=True, slots=True)
class SampleAndNoise:
    """Keep each record with probability 1 - e^-keep_rate, then add noise at ``upper_rate``.

    >>> SampleAndNoise(Fraction(1), Fraction(2)).upper_rate
    Fraction(2, 1)
    """

    keep_rate: Fraction
    upper_rate: Fraction


def sample_and_noise(epsilon: Number) -> SampleAndNoise:
    """Two-sided ε-DP for counts from sampling and one-sided noise, balanced between directions.

    ``p = 1 - e^-ε`` (draw with ``bernoulli_exp``, exact) and rate ``ln(1 + e^ε)``, rounded *down*,
    which is more noise. Source: one-sided note, equation (3).

    >>> both = sample_and_noise("1/2")
    >>> both.keep_rate, round(float(both.upper_rate), 4)
    (Fraction(1, 2), 0.9741)
    """
    loss = positive(epsilon, name="epsilon")
    grown = exp_bounds(loss)[0]
    # log_up is above the logarithm by at most 2^-96.
    rate = log_up(1 + grown, bits=96) - Fraction(1, 2**96)
    return SampleAndNoise(loss, rate)


def _size(bound: Bound) -> Loss:
    """ε, refused where it is negative: the laws above need e^ε >= 1."""
    if isinstance(bound.epsilon, Infinite) or bound.epsilon >= 0:
        return bound.epsilon
    raise ParameterError(
        f"epsilon must be at least 0, got {bound.epsilon!r}.",
        hint="Read the promise the other way round first: accounting.reverse.",
        value=bound.epsilon,
    )
