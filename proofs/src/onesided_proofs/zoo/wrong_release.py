"""Programs whose noise is right and whose release is not; and right twins."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from onesided.noise import Noise
from onesided.verify import Data
from onesided_proofs.zoo.wrong_noise import count, up

GROUPS: Final = ("a", "b")


def keys_of_data(data: Data, noise: Noise) -> dict[str, int]:
    """Noisy counts of the groups that occur: a name in the list is itself an answer."""
    return {g: count(data, g) + up(noise) for g in GROUPS if count(data, g)}


def public_keys(data: Data, noise: Noise) -> dict[str, int]:
    """Right: noisy counts of all groups."""
    return {g: count(data, g) + up(noise) for g in GROUPS}


def or_policy(data: Data, noise: Noise) -> tuple[int, int]:
    """One-sided noise on two counts although a record in the first may pass as in the second."""
    kinds = [record.kind for record in data]
    first = sum(kind in ("first", "both") for kind in kinds)
    second = sum(kind in ("second", "both") for kind in kinds)
    return first + up(noise), second + up(noise)


def winners_in_clear(data: Data, noise: Noise) -> tuple[str, int]:
    """The winner is chosen with noise and its true count published."""
    noisy = {g: count(data, g) + up(noise) for g in GROUPS}
    best = max(GROUPS, key=lambda g: (noisy[g], g))
    return best, count(data, best)


def top_two(data: Data, noise: Noise) -> tuple[tuple[int, str], ...]:
    """Two winners with values, each at the whole ε: k forgotten."""
    return tuple(sorted(((count(data, g) + up(noise), g) for g in "abc"), reverse=True)[:2])


def top_two_split(data: Data, noise: Noise) -> tuple[tuple[int, str], ...]:
    """Right: ε/2 for each."""
    noisy = [(count(data, g) + up(noise, "1/2"), g) for g in "abc"]
    return tuple(sorted(noisy, reverse=True)[:2])


def sparse_vector(data: Data, noise: Noise, *, rate: str, stop: int) -> tuple[Any, ...]:
    """Counts at most 0 are certified for nothing; others are published with their noise."""
    out: list[Any] = []
    for group in GROUPS:
        noisy = count(data, group) + up(noise, rate)
        out.append(noisy if noisy > 0 else "none")
        if sum(answer != "none" for answer in out) >= stop:
            break
    return tuple(out)


def truth_above(data: Data, noise: Noise) -> tuple[Any, ...]:
    """Below the threshold a certificate, above it the true count."""
    return tuple(count(data, g) if count(data, g) + up(noise) > 0 else "none" for g in GROUPS)


def stream(data: Data, noise: Noise, *, marks: bool) -> tuple[Any, ...]:
    """Two steps while the same visit is in the window; with ``marks`` the second one rests."""
    out: list[Any] = []
    for _ in range(2):
        if marks and out and out[-1] != "none":
            out.append("resting")
            continue
        noisy = count(data) + up(noise)
        out.append(noisy if noisy > 0 else "none")
    return tuple(out)


def open_in_clear(data: Data, _noise: Noise) -> int:
    """All open records counted exactly: who is missing from them is sensitive."""
    return sum(record.kind == "open" for record in data)


def sample(data: Data, noise: Noise, *, rate: str, share: str, kinds: tuple[str, ...]) -> Any:
    """True records of ``kinds``, each kept with probability e^-rate or its complement."""
    kept = []
    for record in data:
        coin = bool(noise.bernoulli_exp(rate, 1)[0])
        if record.kind in kinds and (coin if share == "e^-rate" else not coin):
            kept.append((record.kind, tuple(sorted(record.value))))  # type: ignore[call-overload]
    return tuple(sorted(kept))


def zero_set(data: Data, noise: Noise, *, true_zeros: bool) -> tuple[int, ...]:
    """A two-sided histogram (2 of ε = 4) with zeros where a detector (the other 2) found nobody.

    The detector adds noise below the counts of open records; with ``true_zeros`` it looks.
    """
    out = []
    for group in GROUPS:
        mine = [record for record in data if group in record.value]  # type: ignore[operator]
        opened = sum(record.kind == "open" for record in mine)
        found = len(mine) if true_zeros else opened - up(noise, 2)
        noisy = len(mine) + int(noise.two_sided(1, 1, 1)[0])
        out.append(noisy if found > 0 else 0)
    return tuple(out)


def response(data: Data, noise: Noise, *, others: int) -> Any:
    """k-ary randomised response on three values that hides the truth among ``others`` others.

    Tells the truth with probability e/(e + others), as it must for 1 + others values.
    """
    values = ("a", "b", "c")
    (record,) = data
    truth = next(value for value in values if value in record.value)  # type: ignore[operator]
    while True:  # pick truth with weight 1 and each of ``others`` lies with weight e^-1
        place = int(noise.uniform(others + 1, 1)[0])
        if place == 0:
            return truth
        if bool(noise.bernoulli_exp(1, 1)[0]):
            lies = [value for value in values if value != truth]
            return lies[int(noise.uniform(2, 1)[0])]


def subsampled(data: Data, noise: Noise, *, rate: str) -> int:
    """A count with noise above, of records each kept with probability 1 - 1/e."""
    kept = ~noise.bernoulli_exp(1, len(data))
    own = np.array(["a" in record.value for record in data])  # type: ignore[operator]
    return int((kept & own).sum()) + up(noise, rate)
