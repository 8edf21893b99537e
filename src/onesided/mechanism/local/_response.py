"""Answers one by one: the truth or a decoy, or one bit for each letter."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from onesided._english import many
from onesided._numbers import INFINITE, Infinite, Loss, Number, probability, strict_share
from onesided.errors import DataError, ParameterError
from onesided.fields import settle
from onesided.mechanism.local._randomiser import (
    FloatArray,
    Randomiser,
    Report,
    Tally,
    chosen_of,
    finite,
    letters_of,
    ratio,
    shares_of,
    shrink,
)
from onesided.noise import BoolArray, IntArray, Noise


class Marked(Randomiser):
    """Letter j is marked with chance ``own[j]`` if it is the true one, else with ``other[j]``.

    Then ``(marks of j / people - other[j]) / (own[j] - other[j])`` is unbiased for j's share f. Its
    variance is ``(f p (1 - p) + (1 - f) q (1 - q)) / (people (p - q)^2)`` for the people who
    reported, with p = own and q = other, and ``m (1 - m) / (people (p - q)^2)`` with
    ``m = q + f (p - q)`` about a population that they were drawn from.
    """

    @abstractmethod
    def _marks(self) -> tuple[Sequence[Fraction], Sequence[Fraction]]:
        """``(own, other)``: how likely each letter is marked if it is the true one, and if not."""

    def variance(self, frequencies: ArrayLike, people: int, *, sampled: bool = False) -> FloatArray:
        shares = shares_of(frequencies, len(self.alphabet))
        own, other = self._chances()
        gap = own - other
        if sampled:
            marked = other + shares * gap
            spread = marked * (1 - marked)
        else:
            spread = shares * own * (1 - own) + (1 - shares) * other * (1 - other)
        return spread / (people * gap**2)

    def _frequencies(self, tally: Tally) -> FloatArray:
        own, other = self._chances()
        return (tally.seen / tally.people - other) / (own - other)

    def _widths(self) -> FloatArray:
        own, other = self._chances()
        return 1 / (own - other)

    def _certain(self, tally: Tally) -> tuple[IntArray, IntArray]:
        """Marks that only one letter gives, and letters that always give theirs."""
        least = np.where(self._telling, tally.seen, 0)
        most = tally.people - (least.sum() - least)
        always = np.array([chance == 1 for chance in self._marks()[0]])
        return least, np.where(always, np.minimum(most, tally.seen), most)

    @property
    def _telling(self) -> BoolArray:
        """Which letters' marks are given by them alone."""
        return np.array([chance == 0 for chance in self._marks()[1]])

    def _chances(self) -> tuple[FloatArray, FloatArray]:
        own, other = (np.array([float(p) for p in chances]) for chances in self._marks())
        return own, other


@dataclass(frozen=True, eq=True)
class RandomisedResponse(Marked):
    """With chance ``truth`` report the true letter, else one of ``decoys``, each equally likely.

    Promise: a decoy letter passes as any other with loss ``ln(1 + d truth / (1 - truth))`` for d
    decoys: its own report has chance ``truth + (1 - truth)/d`` from it and ``(1 - truth)/d`` from
    any other letter, and no other report is likelier from it than from another letter.
    Direction: a letter that is no decoy is not protected: only its holders ever report it, so its
    report is certain. Its holders sometimes report a decoy, which is what hides the others.
    Warner's method is two letters, both decoys; Mangat's is one decoy of two; k-ary response has
    all letters as decoys; utility-optimised response the sensitive ones.
    Source: Warner 1965; Mangat 1994; docs/publications.md for the others.
    Errors: ParameterError for alphabets below two letters, strangers, or a truth not in (0, 1).

    >>> coin = RandomisedResponse(["yes", "no"], ["yes", "no"], "1/2")
    >>> coin.odds("yes", "no")
    Fraction(3, 1)
    >>> RandomisedResponse(["yes", "no"], ["yes"], "1/2").odds("no", "yes")
    INFINITE
    """

    alphabet: tuple[str, ...]
    decoys: tuple[str, ...]
    truth: Fraction
    _kind = "response"

    def __init__(
        self, alphabet: Iterable[str], decoys: Iterable[str], truth: Number | Fraction
    ) -> None:
        letters = letters_of(alphabet)
        chance = strict_share(truth, name="truth", hint="0 tells nothing and 1 hides nothing.")
        settle(
            self, alphabet=letters, decoys=chosen_of(decoys, letters, name="decoy"), truth=chance
        )

    def _marks(self) -> tuple[Sequence[Fraction], Sequence[Fraction]]:
        hidden, chosen = (1 - self.truth) / len(self.decoys), set(self.decoys)
        other = [hidden if letter in chosen else Fraction(0) for letter in self.alphabet]
        return [chance + self.truth for chance in other], other

    def odds(self, source: str, target: str) -> Loss:
        if source == target:
            return Fraction(1)
        if source not in self.decoys:
            return INFINITE
        return 1 + len(self.decoys) * self.truth / (1 - self.truth)

    def _draw(self, codes: IntArray, noise: Noise) -> IntArray:
        # Both draws are made whatever the coin says: time must not tell which one was used.
        honest = noise.bernoulli(self.truth, codes.size)
        picked = noise.uniform(len(self.decoys), codes.size)
        places = np.array([self._places[letter] for letter in self.decoys], dtype=np.int64)
        return np.where(honest, codes, places[picked])

    def _answer(self, output: Any) -> str:
        return self.alphabet[int(output)]

    def _seen_in(self, answers: Mapping[str, int]) -> IntArray:
        return count_answers(answers, self.alphabet)

    def _seen(self, outputs: Any) -> IntArray:
        return count_places(outputs, len(self.alphabet))


def count_answers(answers: Mapping[str, int], names: Sequence[str]) -> IntArray:
    """How often each of ``names`` was answered. Errors: DataError for anything else."""
    for answer in answers.keys() - set(names):
        raise DataError(
            f"A report answers {answer[:40]!r}, which this configuration never does.",
            hint="It was changed on its way, or not made by this library.",
            answer=answer,
        )
    return np.array([answers.get(name, 0) for name in names], dtype=np.int64)


def count_places(outputs: Any, below: int) -> IntArray:
    """How often each of ``0 .. below - 1`` occurs. Errors: DataError for anything else."""
    if outputs.ndim != 1 or (outputs.size and outputs.dtype.kind not in "iu"):
        raise DataError(
            f"Reports must be one whole number each, got {outputs.dtype} with shape "
            f"{outputs.shape}.",
            hint="Give the array that release() gave, or the reports' texts.",
        )
    if outputs.size == 0:
        return np.zeros(below, dtype=np.int64)
    if outputs.min() < 0 or outputs.max() >= below:
        where = int(np.argmax((outputs < 0) | (outputs >= below)))
        raise DataError(
            f"Report {outputs[where]} at position {where} is not one of 0 .. {below - 1}.",
            hint="It was made by another configuration, or changed on its way.",
            position=where,
        )
    return np.bincount(outputs.astype(np.int64, copy=False), minlength=below).astype(np.int64)


def warner(alphabet: Iterable[str] = ("yes", "no"), *, epsilon: Number) -> RandomisedResponse:
    """Warner's response (1965): two letters, each protected; the truth with chance e^ε/(1+e^ε).

    >>> round(float(warner(epsilon="1/2").loss("yes", "no")), 6)
    0.5
    """
    return k_ary_response(_two("Warner", alphabet, "k_ary_response"), epsilon=epsilon)


def mangat(
    alphabet: Iterable[str] = ("yes", "no"), *, sensitive: str = "yes", epsilon: Number
) -> RandomisedResponse:
    """Mangat's response (1994): two letters; ``sensitive`` is always told, the other at times.

    The other letter is reported as it is with chance ``1 - e^-ε`` and as ``sensitive`` otherwise.
    Certain: whoever reports the other letter holds it.

    >>> asked = mangat(epsilon=1)
    >>> asked.report("yes").answer, asked.odds("no", "yes")
    ('yes', INFINITE)
    """
    letters = _two("Mangat", alphabet, "utility_optimised_response")
    return utility_optimised_response(letters, sensitive=[sensitive], epsilon=epsilon)


def _two(whose: str, alphabet: Iterable[str], instead: str) -> tuple[str, ...]:
    letters = letters_of(alphabet)
    if len(letters) != 2:
        reason = f"{whose}'s response has two letters, got {len(letters)}."
        raise ParameterError(reason, hint=f"Use {instead}.")
    return letters


def k_ary_response(alphabet: Iterable[str], *, epsilon: Number) -> RandomisedResponse:
    """k-ary randomised response: the truth at odds e^ε against each other letter.

    >>> round(float(k_ary_response(["bus", "car", "bike"], epsilon=1).loss("bus", "car")), 6)
    1.0
    """
    letters = letters_of(alphabet)
    return utility_optimised_response(letters, sensitive=letters, epsilon=epsilon)


def utility_optimised_response(
    alphabet: Iterable[str], *, sensitive: Iterable[str], epsilon: Number
) -> RandomisedResponse:
    """The uRR of Murakami and Kawamoto (2019): ``sensitive`` letters pass as every other.

    ``truth = (e^ε - 1) / (s + e^ε - 1)`` for s sensitive letters, with e^ε rounded down to exact
    odds, so that the loss is at most ε. Certain: whoever reports a letter that is not sensitive
    holds it.

    >>> asked = utility_optimised_response(["ill", "well", "away"], sensitive=["ill"], epsilon=1)
    >>> round(float(asked.loss("ill", "well")), 6), asked.odds("well", "ill")
    (1.0, INFINITE)
    """
    letters = letters_of(alphabet)
    hidden = chosen_of(sensitive, letters, name="sensitive")
    inverse = shrink(finite(epsilon))
    truth = (1 - inverse) / (1 + (len(hidden) - 1) * inverse)
    return RandomisedResponse(letters, hidden, truth)


_ROWS: Final = 2**16


@dataclass(frozen=True, eq=True)
class UnaryResponse(Marked):
    """Independent bits: bit j is 1 with chance ``own[j]`` if j is true, else ``other[j]``.

    Promise: letters x and y differ in their two bits only, so x passes as y with odds exactly
    ``own[x]/other[x] * (1 - other[y])/(1 - own[y])``, reached by the report with bit x and
    without bit y. Every person's bits are drawn anew and shared with nobody.
    Direction: a letter with ``other = 0`` is not protected: a 1 in its bit is certain.
    Errors: ParameterError unless ``0 <= other[j] < own[j] <= 1`` for each letter.
    Source: basic one-time RAPPOR (Erlingsson, Pihur and Korolova 2014), and its kin below.

    >>> bits = UnaryResponse(["a", "b"], own=["1/2", "1/2"], other=["1/4", "1/4"])
    >>> bits.odds("a", "b"), len(bits.report("a").answer)
    (Fraction(3, 1), 2)
    """

    alphabet: tuple[str, ...]
    own: tuple[Fraction, ...]
    other: tuple[Fraction, ...]
    _kind = "unary"

    def __init__(
        self, alphabet: Iterable[str], own: Sequence[Number], other: Sequence[Number]
    ) -> None:
        letters = letters_of(alphabet)
        settle(self, alphabet=letters)
        for name, given in (("own", own), ("other", other)):
            chances = tuple(probability(chance, name=name) for chance in given)
            if len(chances) != len(letters):
                raise ParameterError(
                    f"{name} needs one chance for each of the {many(len(letters), 'letter')}, got "
                    f"{len(chances)}.",
                    hint="Give them in the alphabet's order.",
                )
            settle(self, **{name: chances})
        for letter, high, low in zip(letters, self.own, self.other, strict=True):
            if not low < high:
                raise ParameterError(
                    f"The bit of {letter!r} is set with chance {high} by its own holders and "
                    f"{low} by others.",
                    hint="Its own chance must be the larger, or the bit tells nothing.",
                )

    def _marks(self) -> tuple[Sequence[Fraction], Sequence[Fraction]]:
        return self.own, self.other

    def odds(self, source: str, target: str) -> Loss:
        if source == target:
            return Fraction(1)
        x, y = self._places[source], self._places[target]
        first = ratio(self.own[x], self.other[x])
        second = ratio(1 - self.other[y], 1 - self.own[y])
        return first if isinstance(first, Infinite) else second * first

    def _draw(self, codes: IntArray, noise: Noise) -> BoolArray:
        """All bits as if no letter were true, then the true letters' bits anew."""
        people, bits = codes.size, np.empty((codes.size, len(self.alphabet)), dtype=np.bool_)
        for chance in dict.fromkeys(self.other):
            same = np.array([j for j, found in enumerate(self.other) if found == chance])
            drawn = noise.bernoulli(chance, people * same.size).reshape(people, same.size)
            # A block of all columns is taken as it is: copying it would take longer than coins.
            if same.size == len(self.alphabet):
                bits = drawn
            else:
                bits[:, same] = drawn
        for chance in dict.fromkeys(self.own):
            held = np.array([found == chance for found in self.own])
            who = np.flatnonzero(held[codes])
            bits[who, codes[who]] = noise.bernoulli(chance, who.size)
        return bits

    def _answer(self, output: Any) -> str:
        return "".join("1" if bit else "0" for bit in output)

    def _seen_in(self, answers: Mapping[str, int]) -> IntArray:
        width = len(self.alphabet)
        for answer in answers:
            if len(answer) != width or answer.strip("01"):
                raise DataError(
                    f"A report answers {answer[:40]!r}, not {width} bits.",
                    hint="It was changed on its way, or not made by this library.",
                    answer=answer,
                )
        text = "".join(answers).encode()
        bits = (np.frombuffer(text, dtype=np.uint8) - ord("0")).reshape(-1, width)
        if (where := self._impossible(bits)) is not None:
            raise _two_holders(f"The report {list(answers)[where]!r}")
        times = np.fromiter(answers.values(), dtype=np.int64, count=len(answers))
        return times @ bits.astype(np.int64)

    def _read(self, batch: list[Report | str]) -> IntArray:
        """All texts at once where they are our own writer's, which makes them equally long."""
        start, end = (part.encode() for part in self._frame)
        width = len(start) + len(self.alphabet) + len(end)
        if set(map(type, batch)) != {str} or set(map(len, batch)) != {width}:  # type: ignore[arg-type]
            return super()._read(batch)
        text = "".join(batch)  # type: ignore[arg-type]
        if not text.isascii():
            return super()._read(batch)
        table = np.frombuffer(text.encode(), dtype=np.uint8).reshape(-1, width)
        bits = table[:, len(start) : -len(end)] - ord("0")
        ours = (table[:, : len(start)] == np.frombuffer(start, dtype=np.uint8)).all() and (
            table[:, -len(end) :] == np.frombuffer(end, dtype=np.uint8)
        ).all()
        if not ours or bits.max() > 1 or self._impossible(bits) is not None:
            return super()._read(batch)
        return np.asarray(bits.sum(axis=0, dtype=np.int64))

    def _seen(self, outputs: Any) -> IntArray:
        if outputs.ndim != 2 or outputs.shape[1] != len(self.alphabet):
            raise DataError(
                f"Reports must be rows of {len(self.alphabet)} bits, got shape {outputs.shape}.",
                hint="Give the array that release() gave, or the reports' texts.",
            )
        if outputs.dtype != np.bool_:
            if outputs.size and not np.isin(outputs, (0, 1)).all():
                raise DataError(
                    "A report holds something other than bits.", hint="Give only 0 and 1."
                )
            outputs = outputs.astype(np.bool_)
        seen = np.zeros(len(self.alphabet), dtype=np.int64)
        for start in range(0, len(outputs), _ROWS):
            part = outputs[start : start + _ROWS].view(np.uint8)
            if (where := self._impossible(part)) is not None:
                raise _two_holders(f"The report at position {start + where}")
            seen += part.sum(axis=0, dtype=np.uint32)
        return seen

    def _impossible(self, bits: Any) -> int | None:
        """The first row that sets two bits which only their own letters set."""
        telling = self._telling
        if not telling.any():
            return None
        alone = bits[:, telling].sum(axis=1) > 1
        return int(np.argmax(alone)) if alone.any() else None


def _two_holders(who: str) -> DataError:
    return DataError(
        f"{who} sets two bits that only their own letters set: nobody holds both.",
        hint="It was changed on its way, or not made by this library.",
    )


def rappor(alphabet: Iterable[str], *, epsilon: Number) -> UnaryResponse:
    """Basic one-time RAPPOR: every bit is told with chance e^(ε/2)/(1 + e^(ε/2)), else flipped.

    >>> round(float(rappor(["a", "b", "c"], epsilon=1).loss("a", "b")), 6)
    1.0
    """
    letters = letters_of(alphabet)
    half = shrink(finite(epsilon) / 2)
    count, told = len(letters), 1 / (1 + half)
    return UnaryResponse(letters, [told] * count, [1 - told] * count)


def optimised_unary(alphabet: Iterable[str], *, epsilon: Number) -> UnaryResponse:
    """Unary bits with the least noise for rare letters (Wang et al. 2017).

    The true bit is set with chance 1/2, every other with ``1/(1 + e^ε)``.

    >>> optimised_unary(["a", "b"], epsilon=1).own[0]
    Fraction(1, 2)
    """
    letters = letters_of(alphabet)
    inverse = shrink(finite(epsilon))
    count = len(letters)
    return UnaryResponse(letters, [Fraction(1, 2)] * count, [inverse / (1 + inverse)] * count)


def utility_optimised_rappor(
    alphabet: Iterable[str], *, sensitive: Iterable[str], epsilon: Number
) -> UnaryResponse:
    """The uRAP of Murakami and Kawamoto (2019): ``sensitive`` letters pass as every other.

    Sensitive bits are those of RAPPOR. The bit of another letter is set by its holders alone, with
    chance ``1 - e^(-ε/2)``. Certain: whoever sets it holds that letter.
    Proof: between sensitive letters both bits cost ε/2 as in RAPPOR; towards another letter y the
    sensitive bit costs ε/2, and a missing bit y has odds ``1 / e^(-ε/2)``: again ε/2.

    >>> asked = utility_optimised_rappor(["ill", "well"], sensitive=["ill"], epsilon=1)
    >>> asked.other[1], asked.odds("well", "ill")
    (Fraction(0, 1), INFINITE)
    """
    letters = letters_of(alphabet)
    hidden = set(chosen_of(sensitive, letters, name="sensitive"))
    half = shrink(finite(epsilon) / 2)
    told = 1 / (1 + half)
    return UnaryResponse(
        letters,
        [told if letter in hidden else 1 - half for letter in letters],
        [1 - told if letter in hidden else Fraction(0) for letter in letters],
    )
