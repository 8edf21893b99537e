"""What is known of how much a mechanism's steps lose along a move, where that is more than ε.

``steps(shift)`` of a mechanism tells it beside ``loss(shift)``, which is the ``epsilon`` of its
steps. Each step is dominated, for the very pair of data sets of the move and whatever earlier steps
answered, by a fixed law; so laws add up over steps (docs/proofs/renyi.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from onesided._numbers import INFINITE, Loss, exact, from_text, rate, text, whole
from onesided.noise.kit import masses_of, variance_of
from onesided.policy import Shift


@dataclass(frozen=True, slots=True)
class Chosen:
    """A step of which two promises are known: along the move, and from Y back to X.

    forward, backward: in nats. Both must hold for the same pair; INFINITE backward says nothing.

    >>> Chosen(Fraction(1, 2), INFINITE).gains
    False
    """

    forward: Loss
    backward: Loss

    @property
    def epsilon(self) -> Loss:
        """The most that it loses along the move."""
        return self.forward

    @property
    def gains(self) -> bool:
        """Whether several such lose less together than the sum of their ε."""
        return bool(self.forward) and INFINITE not in (self.forward, self.backward)

    def written(self) -> dict[str, object]:
        """As a ledger keeps it."""
        return {"forward": text(self.forward), "backward": text(self.backward)}


@dataclass(frozen=True, slots=True)
class Counted:
    """Numbers with ``G_up - G_down`` added to each, moved by at most ``shift`` in total.

    >>> print(Counted(Fraction(1), Fraction(1, 2), Shift(rise=2, fall=3)).epsilon)
    4
    """

    upper: Loss
    lower: Loss
    shift: Shift

    @property
    def epsilon(self) -> Loss:
        """The most that it loses along the move."""
        return self.upper * self.shift.fall + self.lower * self.shift.rise

    @property
    def backward(self) -> Loss:
        """The most that it loses from Y back to X, where falls are rises."""
        return self.upper * self.shift.rise + self.lower * self.shift.fall

    @property
    def gains(self) -> bool:
        """Whether several such lose less together than the sum of their ε."""
        return bool(self.epsilon) and INFINITE not in (self.upper, self.lower)

    def written(self) -> dict[str, object]:
        """As a ledger keeps it."""
        rates = {"upper": text(self.upper), "lower": text(self.lower)}
        return {**rates, "rise": self.shift.rise, "fall": self.shift.fall}


@dataclass(frozen=True, slots=True)
class Together:
    """Steps one after the other, all of them so many times; a later one may see what came out.

    >>> print(Together((both_ways(Fraction(1, 4)), both_ways(Fraction(1, 2))), 2).epsilon)
    3/2
    """

    steps: tuple[Steps, ...]
    times: int = 1

    @property
    def epsilon(self) -> Loss:
        """The most that they lose along the move."""
        return self.times * sum((one.epsilon for one in self.steps), Fraction(0))

    @property
    def backward(self) -> Loss:
        """The most that they lose from Y back to X."""
        return self.times * sum((one.backward for one in self.steps), Fraction(0))

    @property
    def gains(self) -> bool:
        """Whether several such lose less together than the sum of their ε."""
        return any(one.gains for one in self.steps)

    def written(self) -> dict[str, object]:
        """As a ledger keeps it."""
        return {"together": [one.written() for one in self.steps], "times": self.times}


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several, as the move has it or as earlier steps came out.

    >>> print(OneOf((both_ways(Fraction(1, 4)), both_ways(Fraction(1, 2)))).epsilon)
    1/2
    """

    steps: tuple[Steps, ...]

    @property
    def epsilon(self) -> Loss:
        """The most that any loses along the move."""
        return max(one.epsilon for one in self.steps)

    @property
    def backward(self) -> Loss:
        """The most that any loses from Y back to X."""
        return max(one.backward for one in self.steps)

    @property
    def gains(self) -> bool:
        """Whether several such lose less together than the sum of their ε."""
        return any(one.gains for one in self.steps)

    def written(self) -> dict[str, object]:
        """As a ledger keeps it."""
        return {"one_of": [one.written() for one in self.steps]}


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Numbers with discrete Gaussian noise of σ² = ``variance``, moved by an L2 norm of √squares.

    No ε holds of it, so it is told by its divergences, and in totals by its law. alike: whether no
    number moves by more than 1, so that at most ``squares`` of them do: then that is exact.

    >>> moved = Gaussian(Fraction(50), 1, alike=True)
    >>> moved.epsilon, moved.divergence(33)
    (INFINITE, Fraction(33, 100))
    """

    variance: Fraction
    squares: int
    alike: bool = False

    @property
    def epsilon(self) -> Loss:
        """INFINITE, unless nothing moves."""
        return INFINITE * self.squares

    @property
    def backward(self) -> Loss:
        """The same: the law of a fall is that of a rise, as X and -X have one law."""
        return self.epsilon

    @property
    def gains(self) -> bool:
        """Whether anything is lost; then it is told."""
        return self.squares > 0

    def divergence(self, order: int) -> Fraction:
        """``α squares / (2 σ²)``, which D_α is not above (Canonne et al. 2020, Proposition 5)."""
        return order * self.squares / (2 * self.variance)

    @property
    def masses(self) -> tuple[Sequence[int], int]:
        """Upper bounds of ``Pr[X = x]`` for x = 0, 1, ..., and of all beyond, in 2^-256."""
        return masses_of(self.variance)

    def written(self) -> dict[str, object]:
        """As a ledger keeps it."""
        alike = {"alike": 1} if self.alike else {}
        return {"variance": text(self.variance), "squares": self.squares, **alike}


Steps: TypeAlias = Chosen | Counted | Together | OneOf | Gaussian
_MOST: int = 10**6
_DEEPEST: int = 8
_LONGEST: int = 2**160  # squares of 2^62 steps in many groups


def both_ways(epsilon: Loss) -> Chosen:
    """A step that loses at most ``epsilon`` along the move, and from Y back to X.

    >>> both_ways(Fraction(1, 4)).gains
    True
    """
    return Chosen(epsilon, epsilon)


def beside(one_sided: Loss, *steps: Steps) -> Together:
    """Steps, and noise on one side alone: a loss that is certain, and any back from Y to X."""
    return Together((*((Chosen(one_sided, INFINITE),) if one_sided else ()), *steps))


def steps_in(told: object, *, within: int = 0) -> Steps:
    """Read what ``written`` wrote. within: in how many others it stands.

    Errors: TypeError, KeyError, ValueError or ParameterError for anything else.

    >>> steps_in(both_ways(Fraction(1, 4)).written()) == both_ways(Fraction(1, 4))
    True
    """
    if not isinstance(told, Mapping) or within > _DEEPEST:
        raise TypeError(told)
    if told.keys() == {"forward", "backward"}:
        forward, backward = _loss(told["forward"]), _loss(told["backward"])
        if (forward == 0) != (backward == 0):  # what loses nothing one way is alike both ways
            raise ValueError(told)
        return Chosen(forward, backward)
    if told.keys() == {"upper", "lower", "rise", "fall"}:
        moved = {one: whole(told[one], name=one, least=0) for one in ("rise", "fall")}
        upper, lower = (rate(_loss(told[one]), name=one) for one in ("upper", "lower"))
        return Counted(upper, lower, Shift(**moved))
    if told.keys() - {"alike"} == {"variance", "squares"} and told.get("alike", 1) == 1:
        squares = whole(told["squares"], name="squares", most=_LONGEST)
        variance = variance_of(exact(told["variance"], name="variance"), name="variance")
        return Gaussian(variance, squares, alike="alike" in told)
    if told.keys() == {"one_of"} and told["one_of"]:
        return OneOf(tuple(steps_in(one, within=within + 1) for one in told["one_of"]))
    if told.keys() == {"together", "times"}:
        times = whole(told["times"], name="times", least=1, most=_MOST)
        return Together(tuple(steps_in(o, within=within + 1) for o in told["together"]), times)
    raise ValueError(told)


def _loss(told: object) -> Loss:
    found = from_text(str(told))
    if not found >= 0:
        raise ValueError(told)
    return found
