"""Programs whose release is wrong in one way each, and their right twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided.noise import Noise
from onesided.numbers import Number
from onesided.policy import Policy, Record
from onesided.verify import Data, Line, Universe, program
from onesided_proofs.cases.wrong_noise import count, up

_ONE = Universe(groups=("a",))
_ABC = Universe(groups=("a", "b", "c"), units=1)
_TWO = Universe(units=1)
_FOUR = Universe(
    units=1, values=tuple(Record(kind) for kind in ("none", "first", "second", "both"))
)
_LETTERS = Universe(units=1, values=tuple(Record("record", frozenset(letter)) for letter in "abc"))


def cases() -> Iterator[Line]:
    """Keys, winners, streams, samples, recipes, local answers."""
    added, one = policies.addition_only(), policies.presence(max_groups=1)
    flaw = "keys seen in private data are published"
    yield _wrong(
        "histogram", keys_of_data, added, flaw, "any GROUP BY", universe=Universe(max_groups=1)
    )
    yield program("histogram, public keys", public_keys, one, 1)
    # P = "not in both places": whoever is in at most one of them may pass as in the other.
    free = ("none", "first", "second")
    edges = [(one, two) for one in (*free, "both") for two in free if one != two]
    either = policies.custom(kinds=(*free, "both"), edges=edges)
    flaw = "the OR policy: a count that is called monotone rises"
    yield _wrong(
        "two counts", or_policy, either, flaw, "ADP-2022 section VI-A3 (erratum 2)", universe=_FOUR
    )
    yield program("two counts, presence", or_policy, _dropping(), 1, universe=_FOUR)
    yield from _winners()
    yield from _thresholds()
    yield from _open_records()
    # The zero-set recipe.
    osdp, world = policies.sensitive("private"), Universe(groups=("a",), units=1)
    right, raw = (partial(zero_set, true_zeros=one) for one in (False, True))
    why = "no record uses up both halves"
    yield program("zero set", right, osdp, 4, universe=world, loose=why, unseen=1e-4)
    flaw = "zeros found in the data instead of in a noisy answer"
    seen = "sparse-histogram shortcuts (compare OSDP Algorithm 3)"
    yield _wrong("zero set", raw, osdp, flaw, seen, universe=world, epsilon=4)
    yield from _sampling()


def _wrong(
    name: str,
    run: Callable[[Data, Noise], Any],
    policy: Policy,
    flaw: str,
    seen: str,
    *,
    epsilon: Number = 1,
    **options: Any,
) -> Line:
    return program(name, run, policy, epsilon, flaw=flaw, seen=seen, **options)


def _dropping() -> Policy:
    """Presence in two places, written out."""
    edges = [("both", "first", 1), ("both", "second", 1), ("both", "none", 2)]
    edges += [("first", "none", 1), ("second", "none", 1)]
    return policies.custom(kinds=("none", "first", "second", "both"), edges=edges)


def _winners() -> Iterator[Line]:
    """Report noisy max and top-k."""
    one, two = policies.presence(max_groups=1), policies.presence(max_groups=2)
    flaw, seen = "the winner's true count is published", "report noisy max with a value"
    yield _wrong("top-1", winners_in_clear, one, flaw, seen)
    flaw, seen = "ε for each of k values instead of ε/k", "ADP-2021 Algorithm 1 without its k"
    yield _wrong("top-2 with values", top_two, two, flaw, seen, universe=_ABC, tail=1e-8)
    yield program("top-2, ε/2 each", top_two_split, two, 1, universe=_ABC, tail=1e-9, unseen=1e-4)


def _thresholds() -> Iterator[Line]:
    one, two = policies.presence(max_groups=1), policies.presence(max_groups=2)
    added, name = policies.addition_only(), "one-sided SVT"
    right, stopping, twice = (
        partial(sparse_vector, rate=rate, stop=stop)
        for rate, stop in (("1/2", 2), ("1", 1), ("1", 2))
    )
    yield program("one-sided SVT, c = 2", right, two, 1, universe=_TWO)
    yield program("one-sided SVT, c = 1", stopping, two, 1, universe=_TWO)
    flaw = "noise for one answer above, two published"
    yield _wrong(name, twice, two, flaw, "ADP-2021 Algorithm 2 without its c", universe=_TWO)
    flaw = "the true count is published above the threshold"
    yield _wrong(name, truth_above, one, flaw, "alarms that report the number")
    marks, lost = (partial(stream, marks=kept) for kept in (True, False))
    yield program("monitor, marks kept", marks, added, 1, universe=_ONE)
    flaw = "marks lost: the same visit answered above twice"
    yield _wrong("monitor", lost, added, flaw, "ADP-2021 Algorithm 3 after a crash", universe=_ONE)


def _open_records() -> Iterator[Line]:
    osdp = policies.sensitive("private")
    flaw = "who is missing is sensitive: the exclusion attack"
    seen = "access control (OSDP section 3.1)"
    yield _wrong("all open records", open_in_clear, osdp, flaw, seen, universe=_ONE)
    name, coin = "sample of open records", partial(sample, rate="1", share="1 - e^-rate")
    yield program(name, partial(coin, kinds=("open",)), osdp, 1, universe=_ONE)
    every = partial(coin, kinds=("open", "sensitive"))
    flaw, seen = "protected records are sampled too", "OSDP Algorithm 1 without its policy"
    yield _wrong("sample of records", every, osdp, flaw, seen, universe=_ONE)
    swapped = partial(sample, rate="1/2", share="e^-rate", kinds=("open",))
    flaw, seen = "kept with e^-ε instead of 1 - e^-ε", "a coin and its complement mixed up"
    yield _wrong(name, swapped, osdp, flaw, seen, universe=_ONE, epsilon="1/2")


def _sampling() -> Iterator[Line]:
    bounded, unbounded = policies.bounded(), policies.unbounded()
    three, two = (partial(response, others=n) for n in (2, 1))
    cut: dict[str, Any] = {"tail": 1e-8, "unseen": 1e-3, "loose": "as far as the cut tails show"}
    yield program("3-ary response", three, bounded, 1, universe=_LETTERS, **cut)
    flaw = "Warner's probability for two values used for three"
    yield _wrong("3-ary response", two, bounded, flaw, "a common slip", universe=_LETTERS)
    # Theorem 6 of the note with p = 1 - 1/e: ε is 1 at the rate ln(1 + e) = 1.3132...
    name, right, half = (
        "subsample + noise above",
        *(partial(subsampled, rate=rate) for rate in ("1.313", "1/2")),
    )
    yield program(name, right, unbounded, 1, universe=_ONE)
    flaw = "amplification claimed for the direction that has no noise"
    seen = "one-sided note, Theorem 6, without -log(1 - p)"
    yield _wrong(name, half, unbounded, flaw, seen, universe=_ONE, epsilon="1/2")


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
