"""What leaks by the form of an output, where ``==`` does not see it, and chance that is not drawn.

Each adds enough noise to the number of records in group "a"; what leaks is how it is told, or that
chance comes from elsewhere or is kept, which no enumeration of noise sees.
"""

from __future__ import annotations

import random
import secrets
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Thread
from typing import Final

import numpy as np

from onesided import policy as policies
from onesided.noise import IntArray, Noise, NotPrivateSeededNoise, SecureNoise
from onesided.verify import Data, Line, Universe, program
from onesided_proofs.cases.wrong_noise import count, up

_ONE = Universe(max_groups=1)
_HABIT = "research code, and what an auditor is shown"


def cases() -> Iterator[Line]:
    """One sound line beside the broken ones."""
    added = policies.addition_only()
    yield program("counts in a dictionary", sorted_keys, added, 1, universe=_ONE)
    for run, flaw in (
        (ordered_by_truth, "a dictionary in the order of the true counts"),
        (signed_zero, "-0.0 where somebody is, 0.0 where nobody is"),
        (true_or_one, "True where somebody is, 1 where nobody is"),
        (other_width, "int32 or int64, by the true count"),
        (hidden_field, "the truth in a field that is not compared"),
        (payload_of_nan, "the truth in the bits of a NaN"),
        (class_attribute, "the truth in an attribute of the answer's class"),
        (denied_fields, "the truth in an object that denies its fields"),
        (other_text, "the truth in a text that prints as another"),
        (part_of_array, "the truth in the array that the answer is a part of"),
        (one_field, "the truth in bytes of a record that no field tells"),
        (locked_array, "an array locked where somebody is"),
    ):
        yield program("count, told", run, added, 1, universe=_ONE, flaw=flaw, seen=_HABIT)
    for other, flaw in (
        (own_noise, "secure noise of its own at three times the rate"),
        (seeded_noise, "a seeded generator of its own"),
        (pythons_random, "Python's random numbers"),
        (numpys_random, "numpy's random numbers"),
        (secret_token, "the system's random numbers"),
        (the_clock, "the clock taken for chance"),
        (device, "random numbers read from a device"),
        (other_thread, "random numbers that another thread draws"),
        (other_process, "random numbers of another process"),
        (of_openssl, "random numbers of OpenSSL"),
        (made_before, "a numpy generator made before"),
        (Keeps(), "one draw kept from run to run"),
        (Counts(), "something else every second time"),
        (swallows_the_end, "goes on after its path has ended"),
    ):
        yield program("count, chance", other, added, 1, universe=_ONE, flaw=flaw, seen=_HABIT)


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


class Denies:
    """Holds what it likes, and says that it holds nothing."""

    truth: int
    __dict__ = property(lambda _self: {})


class Quiet(str):
    """A text that prints as nothing."""

    __slots__ = ()

    def __str__(self) -> str:
        return ""


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


def one_field(data: Data, noise: Noise) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Records of a noisy and a true count, of which one field is chosen: the other's bytes stay."""
    both = np.array([(count(data) + up(noise), count(data))], dtype=[("noisy", "i8"), ("n", "i8")])
    return both[["noisy"]]


def locked_array(data: Data, noise: Noise) -> IntArray:
    """An array that can be written to where nobody is there."""
    noisy = np.array([count(data) + up(noise)])
    noisy.setflags(write=not count(data))
    return noisy


def sorted_keys(data: Data, noise: Noise) -> dict[str, int]:
    """Right: the same dictionary in an order that everybody knows."""
    return {key: count(data, key) + up(noise) for key in ("a", "b")}


def own_noise(data: Data, _noise: Noise) -> int:
    """Secure noise of its own, at a rate three times too high: in most runs it adds nothing."""
    return count(data) + int(SecureNoise().geometric(3, 1)[0])


def seeded_noise(data: Data, noise: Noise) -> int:
    """A generator of its own beside the noise it is given."""
    return count(data) + up(noise, 3) + int(NotPrivateSeededNoise(0).uniform(2, 1)[0])


def pythons_random(data: Data, noise: Noise) -> int:
    """Python's generator, which anybody can foretell."""
    return count(data) + up(noise, 3) + random.randrange(2)  # noqa: S311 - broken on purpose


def numpys_random(data: Data, noise: Noise) -> int:
    """Numpy's generator."""
    return count(data) + up(noise, 3) + int(np.random.default_rng().integers(2))


def secret_token(data: Data, noise: Noise) -> int:
    """The system's random numbers, by way of ``secrets``."""
    return count(data) + up(noise, 3) + secrets.randbelow(2)


def the_clock(data: Data, noise: Noise) -> int:
    """Noise from the clock."""
    return count(data) + up(noise, 3) + time.time_ns() % 2


_RARELY: Final = 2**-16
_MADE_BEFORE: Final = np.random.default_rng(1)


def _rarely(data: Data, noise: Noise, drawn: bytes) -> tuple[int, int]:
    """The right noise, and the truth as well, once in 2^15 times: no run here shows it."""
    hit = int.from_bytes(drawn) < 2
    return count(data) + up(noise), count(data) if hit else -1


def device(data: Data, noise: Noise) -> tuple[int, int]:
    """The system's random numbers, read like a file."""
    with open("/dev/urandom", "rb") as source:  # noqa: PTH123 - broken on purpose
        return _rarely(data, noise, source.read(2))


def other_thread(data: Data, noise: Noise) -> tuple[int, int]:
    """Secure noise that another thread draws."""
    drawn: list[int] = []
    thread = Thread(target=lambda: drawn.extend(SecureNoise().uniform(2**16, 1).tolist()))
    thread.start()
    thread.join()
    return _rarely(data, noise, drawn[0].to_bytes(2))


def other_process(data: Data, noise: Noise) -> tuple[int, int]:
    """A command that gives random numbers."""
    command = ["head", "-c", "2", "/dev/urandom"]
    return _rarely(data, noise, subprocess.check_output(command))  # noqa: S603 - broken on purpose


def of_openssl(data: Data, noise: Noise) -> tuple[int, int]:
    """Random numbers of another library."""
    return _rarely(data, noise, ssl.RAND_bytes(2))


def made_before(data: Data, noise: Noise) -> tuple[int, int]:
    """A generator of numpy's that was made when the program was read."""
    hit = _MADE_BEFORE.random() < _RARELY
    return count(data) + up(noise), count(data) if hit else -1


@dataclass(slots=True)
class Keeps:
    """Draws once and uses the same noise for ever after."""

    drawn: list[int] = field(default_factory=list)

    def __call__(self, data: Data, noise: Noise) -> int:
        """The count with the first noise that was ever drawn."""
        if not self.drawn:
            self.drawn.append(up(noise))
        return count(data) + self.drawn[0]


@dataclass(slots=True)
class Counts:
    """Tells every second time that it was asked before."""

    asked: int = 0

    def __call__(self, data: Data, noise: Noise) -> tuple[int, bool]:
        """A right answer, and whether the number of runs so far is even."""
        self.asked += 1
        return count(data) + up(noise), self.asked % 2 == 0


def swallows_the_end(data: Data, noise: Noise) -> int:
    """Goes on although the enumeration has ended its path."""
    answer = count(data) + up(noise)
    try:
        noise.uniform(16, 1)
    except BaseException:  # noqa: BLE001 - broken on purpose
        return count(data)
    return answer
