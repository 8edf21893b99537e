"""When publishing a sample of open records is worse than noise on all of them."""

from __future__ import annotations

from fractions import Fraction

from onesided._numbers import Number, positive, whole
from onesided.bounds._directed_rounding import exp_neg, short_up
from onesided.errors import ParameterError


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
