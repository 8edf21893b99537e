"""Programs that take chance from elsewhere, or keep it: no enumeration of their noise sees it."""

from __future__ import annotations

import random
import secrets
import ssl
import subprocess
import time
from dataclasses import dataclass, field
from threading import Thread
from typing import Final

import numpy as np

from onesided.noise import Noise, NotPrivateSeededNoise, SecureNoise
from onesided.verify import Data
from onesided_proofs.zoo.wrong_noise import count, up


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
