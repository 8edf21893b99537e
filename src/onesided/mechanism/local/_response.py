"""The truth, or a letter drawn from those that need company."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from onesided._numbers import INFINITE, Loss, Number, strict_share
from onesided.errors import DataError, ParameterError
from onesided.fields import settle
from onesided.mechanism.local._alphabet import chosen_of, letters_of
from onesided.mechanism.local._marks import Marked
from onesided.mechanism.local._odds import finite, shrink
from onesided.noise import IntArray, Noise


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

    def __init__(
        self, alphabet: Iterable[str], decoys: Iterable[str], truth: Number | Fraction
    ) -> None:
        letters = letters_of(alphabet)
        chance = strict_share(truth, name="truth", hint="0 tells nothing and 1 hides nothing.")
        settle(
            self,
            alphabet=letters,
            decoys=chosen_of(decoys, letters, name="decoy"),
            truth=chance,
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

    @property
    def configuration(self) -> dict[str, object]:
        return {
            "randomiser": "response",
            "alphabet": list(self.alphabet),
            "decoys": list(self.decoys),
            "truth": str(self.truth),
        }

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
    letters = letters_of(alphabet)
    if len(letters) != 2:
        raise ParameterError(
            f"Warner's response has two letters, got {len(letters)}.", hint="Use k_ary_response."
        )
    return k_ary_response(letters, epsilon=epsilon)


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
    letters = letters_of(alphabet)
    if len(letters) != 2:
        raise ParameterError(
            f"Mangat's response has two letters, got {len(letters)}.",
            hint="Use utility_optimised_response.",
        )
    return utility_optimised_response(letters, sensitive=[sensitive], epsilon=epsilon)


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
