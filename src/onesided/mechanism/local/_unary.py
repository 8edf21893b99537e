"""One bit for each letter, each flipped on its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from onesided._english import many
from onesided._numbers import Infinite, Loss, Number, probability
from onesided.errors import DataError, ParameterError
from onesided.fields import settle
from onesided.mechanism.local._alphabet import chosen_of, letters_of
from onesided.mechanism.local._marks import Marked
from onesided.mechanism.local._odds import finite, ratio, shrink
from onesided.mechanism.local._report import Report
from onesided.noise import BoolArray, IntArray, Noise

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

    @property
    def configuration(self) -> dict[str, object]:
        return {
            "randomiser": "unary",
            "alphabet": list(self.alphabet),
            "own": [str(chance) for chance in self.own],
            "other": [str(chance) for chance in self.other],
        }

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
                raise _not_bits(answer, width)
        text = "".join(answers).encode()
        bits = (np.frombuffer(text, dtype=np.uint8) - ord("0")).reshape(-1, width)
        if (where := self._impossible(bits)) is not None:
            raise _two_holders(f"The report {list(answers)[where]!r}")
        times = np.fromiter(answers.values(), dtype=np.int64, count=len(answers))
        found: IntArray = times @ bits.astype(np.int64)
        return found

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
        seen: IntArray = bits.sum(axis=0, dtype=np.int64)
        return seen

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


def _not_bits(answer: str, width: int) -> DataError:
    return DataError(
        f"A report answers {answer[:40]!r}, not {width} bits.",
        hint="It was changed on its way, or not made by this library.",
        answer=answer,
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
