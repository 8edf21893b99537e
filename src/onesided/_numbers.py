"""Exact numbers in, cautious numbers out.

Parameters become :class:`fractions.Fraction` at the door and stay exact. What leaves as a
decimal is rounded toward caution: losses up, certainties down. NaN fails every check here,
so nothing above needs to look for it.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from onesided.errors import DataError, ParameterError

MIN_RATE: Final = Fraction(1, 2**40)
MAX_RATE: Final = Fraction(2**10)
MAX_COUNT: Final = 2**62
_MAX_EXPONENT: Final = 400
_PLAIN: Final = 12  # a third reads better than 0.3333
_LONG: Final = 12
_READABLE: Final = 16
_TINY: Final = 1e-4
_VAST: Final = 1e15
_LONG_WHOLE: Final = 999_999.5

# Rényi divergences are taken at these orders, and kept in whole multiples of 2^-64.
ORDERS: Final = tuple(1 + 2**k for k in range(11))
ORDER_UNIT: Final = 2**64

Number: TypeAlias = int | Fraction | Decimal | str | float


@final
class Infinite:
    """Larger than every number. One value, ``INFINITE``; a rate or a loss may be it.

    ``0 * INFINITE`` is 0: an infinite rate costs nothing where nothing moves.

    >>> INFINITE > 10**100, 0 * INFINITE, INFINITE + 1
    (True, Fraction(0, 1), INFINITE)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "INFINITE"

    def __add__(self, other: object) -> Infinite:
        return self

    __radd__ = __add__

    def __mul__(self, factor: Fraction | int) -> Fraction | Infinite:
        if factor < 0:
            raise ParameterError(f"INFINITE cannot be multiplied by {factor}.", factor=factor)
        return self if factor > 0 else Fraction(0)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Infinite)

    def __hash__(self) -> int:
        return hash("onesided.INFINITE")

    def __lt__(self, other: object) -> bool:
        return False

    def __le__(self, other: object) -> bool:
        return isinstance(other, Infinite)

    def __gt__(self, other: object) -> bool:
        return not isinstance(other, Infinite)

    def __ge__(self, other: object) -> bool:
        return True

    def __reduce__(self) -> str:
        return "INFINITE"


INFINITE: Final = Infinite()
Loss: TypeAlias = Fraction | Infinite


def exact(value: object, *, name: str) -> Fraction:
    """``value`` as an exact fraction: int, Fraction, Decimal, "0.1", "1/3", or a float.

    A float is taken at its exact binary value.

    Errors: ParameterError for NaN, infinities, booleans and anything that is not a number.
    """
    try:
        return _exact(value)
    except (ValueError, TypeError, ArithmeticError):
        raise ParameterError(
            f"{name} must be a finite number, got {value!r}.",
            hint='Give a whole number, or text such as "0.1" or "1/3".',
            value=value,
        ) from None


def on_orders(number: Fraction) -> Fraction:
    """The least multiple of 2^-64 that is not below ``number``; for divergences at the orders."""
    return Fraction(-(-number * ORDER_UNIT // 1), ORDER_UNIT)


def on_grid(value: object) -> Any:
    """A float as the decimal number that it prints as; anything else as it is.

    For places on a grid, where 0.1 means a tenth. Never for ε or data.

    >>> on_grid(0.1), on_grid("0.1")
    (Fraction(1, 10), '0.1')
    """
    if isinstance(value, float | np.floating) and np.isfinite(value):
        return Fraction(str(value))
    return value


def _exact(value: object) -> Fraction:
    if isinstance(value, bool):
        raise TypeError
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, str) and "/" in value:
        return Fraction(value)
    if isinstance(value, str | Decimal):
        number = Decimal(value)
        # An exponent such as 1e999999999 would not fit in memory as a fraction.
        if number and abs(number.adjusted()) > _MAX_EXPONENT:
            raise ValueError
        return Fraction(number)
    if isinstance(value, Real):
        return Fraction(float(value))
    raise TypeError


def positive(value: object, *, name: str) -> Fraction:
    """``value`` as an exact fraction above zero.

    >>> positive("1/3", name="epsilon")
    Fraction(1, 3)
    >>> positive(0, name="epsilon")
    Traceback (most recent call last):
        ...
    onesided.errors.ParameterError: epsilon must be above 0, got 0. Hint: Give a number above 0.
    """
    number = exact(value, name=name)
    if number > 0:
        return number
    raise ParameterError(
        f"{name} must be above 0, got {value!r}.", hint="Give a number above 0.", value=value
    )


def non_negative(value: object, *, name: str) -> Fraction:
    """``value`` as an exact fraction of at least zero.

    >>> non_negative("0.5", name="delta")
    Fraction(1, 2)
    """
    number = exact(value, name=name)
    if number >= 0:
        return number
    raise ParameterError(
        f"{name} must be at least 0, got {value!r}.", hint="Give 0 or more.", value=value
    )


def probability(value: object, *, name: str, hint: str = "Give a share.") -> Fraction:
    """``value`` as an exact fraction in [0, 1]."""
    number = exact(value, name=name)
    if 0 <= number <= 1:
        return number
    raise ParameterError(f"{name} must lie between 0 and 1, got {value!r}.", hint=hint, value=value)


def strict_share(value: object, *, name: str, hint: str = 'Give for example "1/4".') -> Fraction:
    """``value`` as an exact fraction strictly between 0 and 1.

    >>> strict_share("3/4", name="confidence")
    Fraction(3, 4)
    """
    number = exact(value, name=name)
    if 0 < number < 1:
        return number
    raise ParameterError(
        f"{name} must lie strictly between 0 and 1, got {value!r}.", hint=hint, value=value
    )


def whole(value: object, *, name: str, least: int = 0, most: int = MAX_COUNT) -> int:
    """``value`` as an int in [least, most].

    >>> whole("12", name="max_groups")
    12
    >>> whole(2.5, name="max_groups")
    Traceback (most recent call last):
        ...
    onesided.errors.ParameterError: max_groups must be a whole number from 0 to 2^62, got 2.5. Hint:
    Give a whole number from 0 to 2^62.
    """
    try:
        number = _exact(value)
    except (ValueError, TypeError, ArithmeticError):
        number = Fraction(1, 2)  # no whole number either
    if number.denominator == 1 and least <= number <= most:
        return int(number)
    end = "2^62" if most == MAX_COUNT else most
    raise ParameterError(
        f"{name} must be a whole number from {least} to {end}, got {value!r}.",
        hint=f"Give a whole number from {least} to {end}.",
        value=value,
    )


def rate(value: object, *, name: str) -> Loss:
    """``value`` as a noise rate: INFINITE (no noise), or exact in [2^-40, 2^10].

    >>> rate("0.5", name="upper_rate"), rate(INFINITE, name="upper_rate")
    (Fraction(1, 2), INFINITE)
    """
    if isinstance(value, Infinite):
        return value
    number = positive(value, name=name)
    if MIN_RATE <= number <= MAX_RATE:
        return number
    given = shown(value, up=True) if isinstance(value, Fraction) else repr(value)
    raise ParameterError(
        f"{name} must lie between 2^-40 and 2^10, got {given}.",
        hint="A rate below 2^-40 adds noise larger than any count; "
        "above 2^10 use onesided.INFINITE if no noise is meant.",
        value=value,
    )


def regular(values: object) -> NDArray[Any]:
    """``values`` as an array. Errors: DataError if its rows differ in length.

    >>> regular([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    try:
        return np.asarray(values)
    except ValueError:
        raise DataError(
            "An array's rows differ in length.", hint="Give every row the same number of entries."
        ) from None


def sampled(rate: Loss, *, hint: str) -> Loss:
    """A rate that was worked out, if the samplers offer it. Errors: ParameterError."""
    if isinstance(rate, Infinite) or MIN_RATE <= rate <= MAX_RATE:
        return rate
    near = Decimal(rate.numerator) / Decimal(rate.denominator)
    raise ParameterError(
        f"This needs noise at the rate {near:.3g}, outside 2^-40 .. 2^10.", hint=hint, rate=rate
    )


def round_up(number: Loss) -> float:
    """The least float that is not below ``number``; for losses shown to people and programs.

    >>> round_up(Fraction(1, 10)) >= Fraction(1, 10), round_up(Fraction(1, 2))
    (True, 0.5)
    """
    if isinstance(number, Infinite):
        return math.inf
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def round_down(number: Loss) -> float:
    """The largest float that is not above ``number``; for certainties."""
    if isinstance(number, Infinite):
        return math.inf
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def text(number: Loss) -> str:
    """Exact and readable: ``"1"``, ``"1/2"`` or ``"INFINITE"``; :func:`from_text` reads it back.

    >>> text(Fraction(1, 2)), text(INFINITE)
    ('1/2', 'INFINITE')
    """
    return "INFINITE" if isinstance(number, Infinite) else str(number)


def plain(number: Fraction) -> str:
    """Exact: a decimal if six digits are enough, as they are for 1e-6, and else a fraction."""
    near = _near(number, 6)
    return _decimal(near) if near == number else str(number)


def shown(number: Fraction, *, up: bool) -> str:
    """Short, and never kinder than the truth: exact where that is short, else rounded as marked.

    Marked by ``"≤ "`` (rounded up, for what is spent) or ``"≥ "`` (down, for what is left).
    """
    exactly = plain(number)
    if len(exactly) <= _LONG and ("/" not in exactly or number.denominator <= _PLAIN):
        return exactly
    near = _near(number, 4, decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR)
    return f"{'≤' if up else '≥'} {_decimal(near)}"


def _near(number: Fraction, digits: int, rounding: str = decimal.ROUND_HALF_EVEN) -> Decimal:
    context = decimal.Context(prec=digits, rounding=rounding)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _decimal(number: Decimal) -> str:
    return f"{number.normalize():{'f' if -5 < number.adjusted() < 9 else 'e'}}"


def readable(number: Loss) -> str:
    """:func:`text`, with a decimal before a fraction that is too long to be read.

    A float such as 0.1 is taken at its exact value, and that is such a fraction.

    >>> readable(Fraction(1, 3)), readable(Fraction(0.1))
    ('1/3', 'about 0.1 (exactly 3602879701896397/36028797018963968)')
    """
    exact_text = text(number)
    if isinstance(number, Infinite) or len(exact_text) <= _READABLE:
        return exact_text
    return f"about {_near(number, 6).normalize()} (exactly {exact_text})"


def odds(loss: Loss) -> str:
    """By what factor odds may change, as people write it.

    >>> odds(Fraction(12)), odds(Fraction(50, 3))
    ('e^12', 'e^(50/3)')
    """
    told = readable(loss)
    return f"e^{told}" if told.isdecimal() else f"e^({told})"


def percent(share: float) -> str:
    """A share of all publications; never rounded up to all of them.

    >>> percent(0.826), percent(0.9998), percent(1)
    ('82.6%', 'over 99.9%', '100.0%')
    """
    told = f"{share:.1%}"
    return "over 99.9%" if share < 1 and told == "100.0%" else told


def quantity(number: float, *, up: bool | None = None) -> str:  # noqa: PLR0911 - a line for each size
    """A finite number as people read it: grouped, in six digits if more are long to read.

    up: whether it bounds something from above (True) or below (False); it is then rounded away
    from that, and only where it is long; what floats' last digits keep from a short number is it.

    >>> quantity(3583390.5), quantity(55267), quantity(0.125), quantity(2.5e-7)
    ('3,583,390', '55,267', '0.125', '2.5e-07')
    >>> quantity(549.6907558755086, up=False), quantity(2974301.253728, up=True)
    ('549.690', '2,974,302')
    >>> quantity(22.639999999999986, up=False), quantity(14.999999999999993, up=False)
    ('22.64', '15')
    """
    if isinstance(number, int):
        return f"{number:,}"
    told, size = Decimal(repr(number)), abs(number)
    if size and not _TINY <= size < _VAST:
        if up is None:
            return f"{number:.6g}"
        with decimal.localcontext() as context:
            context.prec = 6
            context.rounding = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
            return f"{context.create_decimal(told):e}"
    if number.is_integer():
        return f"{int(number):,}"
    if up is None:
        return f"{number:,.6g}" if size < _LONG_WHOLE else f"{number:,.0f}"
    if len(repr(number)) <= _LONG:
        return f"{told:,}"
    least = Decimal(1).scaleb(min(0, told.adjusted() - 5))
    near = told.quantize(least)
    if abs(near - told) <= abs(told).scaleb(-14):
        return quantity(float(near), up=up)
    way = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
    return f"{told.quantize(least, rounding=way):,}"


def rough(number: float) -> str:
    """A number that is about right, in three digits, with no exponent where it is large.

    >>> rough(12345.6), rough(0.0123456), rough(5)
    ('12,300', '0.0123', '5')
    """
    told = f"{number:.3g}"
    return f"{Decimal(told):,f}" if not number or _TINY <= abs(number) < _VAST else told


def from_text(value: str) -> Loss:
    """Read what :func:`text` wrote."""
    return INFINITE if value == "INFINITE" else exact(value, name="stored number")


def exp_neg_bounds(exponent: Fraction, *, bits: int) -> tuple[Fraction, Fraction]:
    """``(low, high)`` with ``low <= e^-exponent <= high`` and ``high - low <= 2^-bits``.

    ``exponent >= 0``. The decimal module's ``exp`` is correctly rounded; the argument is
    rounded both ways first, so the two ends are rigorous.

    >>> low, high = exp_neg_bounds(Fraction(1), bits=64)
    >>> low < high <= low + Fraction(1, 2**64)
    True
    """
    if exponent == 0:
        return Fraction(1), Fraction(1)
    if exponent > bits:
        return Fraction(0), Fraction(1, 2**bits)
    with decimal.localcontext() as context:
        context.prec = _digits(bits)
        larger = _near(exponent, context.prec, decimal.ROUND_CEILING)
        smaller = _near(exponent, context.prec, decimal.ROUND_FLOOR)
        low, high = (-larger).exp().next_minus(), (-smaller).exp().next_plus()
    return Fraction(low), min(Fraction(high), Fraction(1))


def _digits(bits: int) -> int:
    """Decimal digits that resolve 2^-bits, with some to spare for the argument's own rounding."""
    return bits * 302 // 1000 + 12


def log_up(number: Fraction, *, bits: int = 64) -> Fraction:
    """A fraction at least ``ln number`` and above it by at most ``2^-bits``; ``number > 0``.

    >>> log_up(Fraction(1)), float(log_up(Fraction(2)))
    (Fraction(0, 1), 0.6931471805599453)
    """
    if number == 1:
        return Fraction(0)
    with decimal.localcontext() as context:
        context.prec = _digits(bits)
        argument = _near(number, context.prec, decimal.ROUND_CEILING)
        return Fraction(argument.ln().next_plus())


def least_whole(enough: Callable[[int], bool], *, start: int = 0) -> int:
    """The least whole number from which on ``enough`` is true, looked for around ``start``.

    enough: false up to some number, and true of all above it.

    >>> least_whole(lambda k: k >= 1000), least_whole(lambda k: k >= -7, start=3)
    (1000, -7)
    """
    low, high, step = start - 1, start, 1
    while not enough(high):
        low, high, step = high, high + step, 2 * step
    step = 1
    while enough(low):
        low, high, step = low - step, low, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
