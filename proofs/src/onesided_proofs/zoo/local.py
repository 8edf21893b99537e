"""Local randomisers that are wrong in one way each: functions of people's letters and noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from onesided.mechanism.local import RandomisedResponse, Randomiser, UnaryResponse
from onesided.noise import Noise
from onesided.verify import Data


@dataclass(frozen=True, slots=True)
class Client:
    """Right: the first person's report, as it is sent."""

    randomiser: Randomiser

    def __call__(self, data: Data, noise: Noise) -> str:
        """The answer."""
        return self.randomiser.report(data[0].kind, noise=noise).answer


@dataclass(frozen=True, slots=True)
class Crowd:
    """Right: everybody's outputs at once, as a simulation makes them."""

    randomiser: Randomiser

    def __call__(self, data: Data, noise: Noise) -> Any:
        """The outputs."""
        return self.randomiser.release([record.kind for record in data], noise=noise)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A function of letters and noise."""

    run: Callable[[Sequence[str], Noise], Any]

    def __call__(self, data: Data, noise: Noise) -> Any:
        """What the function gives."""
        return self.run([record.kind for record in data], noise)


def truthful_coin(letters: Sequence[str], noise: Noise, *, right: RandomisedResponse) -> str:
    """The chance of reporting the truth is taken for the chance of not drawing at random."""
    decoys = len(right.decoys)
    told = right.truth + (1 - right.truth) / decoys
    wrong = RandomisedResponse(right.alphabet, right.decoys, told)
    return wrong.report(letters[0], noise=noise).answer


def others_tell(letters: Sequence[str], noise: Noise, *, right: RandomisedResponse) -> str:
    """Who holds a sensitive letter draws among all letters, open ones too, when not truthful."""
    among = right.alphabet if letters[0] in right.decoys else right.decoys
    honest = bool(noise.bernoulli(right.truth, 1)[0])
    picked = among[int(noise.uniform(len(among), 1)[0])]
    return letters[0] if honest else picked


def shared_bits(letters: Sequence[str], noise: Noise, *, right: UnaryResponse) -> Any:
    """One row of flips for everybody: two reports differ where their letters do."""
    flips = noise.bernoulli(right.other[0], len(right.alphabet))
    true = np.array([[own == letter for letter in right.alphabet] for own in letters])
    return true ^ flips


def fresh_reports(letters: Sequence[str], noise: Noise, *, right: Randomiser) -> Any:
    """The same question is asked again and answered with fresh noise, at the price of one."""
    return tuple(right.report(letters[0], noise=noise).answer for _ in range(2))


def remembered_flips(letters: Sequence[str], noise: Noise, *, right: UnaryResponse) -> Any:
    """The flips are stored, not the report: a later, public letter is sent with the same ones."""
    flips = noise.bernoulli(right.other[0], len(right.alphabet))
    later = right.alphabet[0]
    return tuple(
        tuple(
            bool((own == letter) ^ flip) for letter, flip in zip(right.alphabet, flips, strict=True)
        )
        for own in (letters[0], later)
    )


def whole_budget(right: UnaryResponse) -> UnaryResponse:
    """All of ε is spent on an open letter's bit, though the sensitive bit costs half of it too."""
    own = [
        1 - (1 - chance) ** 2 if other == 0 else chance
        for chance, other in zip(right.own, right.other, strict=True)
    ]
    return UnaryResponse(right.alphabet, own, right.other)


def coarse(right: RandomisedResponse) -> RandomisedResponse:
    """The chance is rounded to a per cent, as a survey's dice are, whichever way is nearer."""
    return RandomisedResponse(right.alphabet, right.decoys, Fraction(round(right.truth * 100), 100))
