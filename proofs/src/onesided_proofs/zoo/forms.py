"""Programs whose secret is in the form of the output, where ``==`` does not see it.

Each adds enough noise to the number of records in group "a"; what leaks is how it is told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from onesided.noise import IntArray, Noise
from onesided.verify import Data
from onesided_proofs.zoo.wrong_noise import count, up


@dataclass(frozen=True, slots=True)
class Told:
    """An answer with a field that does not take part in comparisons."""

    answer: int
    note: int = field(compare=False)


class Shown:
    """An answer, and what its class knows of the truth."""

    truth = 0

    def __init__(self, answer: int) -> None:
        self.answer = answer


class Below:
    """One slot."""

    __slots__ = ("answer",)
    answer: int


class Above(Below):
    """One more, of the same name."""

    __slots__ = ("answer",)
    answer: int


class Denies:
    """Holds what it likes, and says that it holds nothing."""

    truth: int
    __dict__ = property(lambda _self: {})


class Quiet(str):
    """A text that prints as nothing."""

    __slots__ = ()

    def __str__(self) -> str:
        return ""


class Answer(Enum):
    """Whether there is one."""

    GIVEN = 1


def ordered_by_truth(data: Data, noise: Noise) -> dict[str, int]:
    """A dictionary whose keys come in the order of the true counts."""
    truth = {"a": count(data), "b": count(data, "b")}
    return {key: truth[key] + up(noise) for key in sorted(truth, key=truth.__getitem__)}


def signed_zero(data: Data, noise: Noise) -> tuple[int, float]:
    """A zero whose sign says whether anybody is there."""
    return count(data) + up(noise), -0.0 if count(data) else 0.0


def true_or_one(data: Data, noise: Noise) -> tuple[int, object]:
    """True or 1, by the secret."""
    return count(data) + up(noise), True if count(data) else 1


def other_width(data: Data, noise: Noise) -> IntArray:
    """The narrowest type that the true count fits into."""
    noisy = np.array([count(data) + up(noise)])
    return noisy.astype(np.int32 if count(data) < 1 else np.int64)


def hidden_field(data: Data, noise: Noise) -> Told:
    """The truth in a field that ``==`` leaves out."""
    return Told(count(data) + up(noise), note=count(data))


def payload_of_nan(data: Data, noise: Noise) -> tuple[int, float]:
    """A missing value whose bits hold the truth."""
    bits = np.array([0x7FF8000000000000 + count(data)], dtype=np.uint64)
    return count(data) + up(noise), float(bits.view(np.float64)[0])


def class_attribute(data: Data, noise: Noise) -> object:
    """The truth in the class of what is told."""
    Shown.truth = count(data)
    return Shown(count(data) + up(noise))


def shadowed_slot(data: Data, noise: Noise) -> object:
    """The truth in a slot of the base, below one of the same name."""
    told = Above()
    told.answer = count(data) + up(noise)
    vars(Below)["answer"].__set__(told, count(data))
    return told


def denied_fields(data: Data, noise: Noise) -> tuple[int, object]:
    """The truth in an object that says it has no fields."""
    told = Denies()
    told.truth = count(data)
    return count(data) + up(noise), told


def other_text(data: Data, noise: Noise) -> tuple[int, str]:
    """A text that gives another text for itself."""
    return count(data) + up(noise), Quiet(f"{count(data)}")


def part_of_array(data: Data, noise: Noise) -> IntArray:
    """The first number of an array that holds the truth as well."""
    return np.array([count(data) + up(noise), count(data)])[:1]


def locked_array(data: Data, noise: Noise) -> IntArray:
    """An array that can be written to where nobody is there."""
    noisy = np.array([count(data) + up(noise)])
    noisy.setflags(write=not count(data))
    return noisy


def same_or_equal(data: Data, noise: Noise) -> tuple[list[int], list[int]]:
    """One list told twice, or two that are equal."""
    told = [count(data) + up(noise)]
    return told, told if count(data) else [*told]


def noted_member(data: Data, noise: Noise) -> tuple[int, Enum]:
    """A member of an enumeration, with the truth written on it."""
    Answer.GIVEN.note = count(data)  # type: ignore[attr-defined]
    return count(data) + up(noise), Answer.GIVEN


def sorted_keys(data: Data, noise: Noise) -> dict[str, int]:
    """Right: the same dictionary in an order that everybody knows."""
    return {key: count(data, key) + up(noise) for key in ("a", "b")}
