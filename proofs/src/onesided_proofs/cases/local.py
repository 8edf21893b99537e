"""Local randomisers, one person and a crowd of two, under their directed policies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided.mechanism import local
from onesided.mechanism.local import RandomisedResponse, Randomiser, UnaryResponse
from onesided.noise import Noise
from onesided.numbers import Number
from onesided.policy import Policy
from onesided.verify import Data, Line, Universe

_ONE: Final = Universe(units=1)
_TWO: Final = Universe(units=2, ordered=True)
_ABC: Final = ("a", "b", "c")
_ABCD: Final = (*_ABC, "d")


def cases() -> Iterator[Line]:
    """The sound first."""
    for name, epsilon, randomiser, policy in _shipped():
        claims = randomiser.losses(policy)
        yield Line(name, policy, Client(randomiser), claims, universe=_ONE, epsilon=epsilon)
        crowd, both = f"{name} (crowd)", Crowd(randomiser)
        yield Line(crowd, policy, both, claims, universe=_TWO, epsilon=epsilon)
    yield from _broken_responses()
    yield from _broken_bits()
    yield from _broken_directions()


def _shipped() -> Iterator[tuple[str, Number, Randomiser, Policy]]:
    """Each family, the ε it was made for, and its policy."""
    binary = ("yes", "no")
    yield "Warner", 1, local.warner(binary, epsilon=1), policies.local(binary)
    hidden = policies.local(binary, sensitive=["yes"])
    yield "Mangat", 1, local.mangat(binary, epsilon=1), hidden
    yield "k-ary response", "1/2", local.k_ary_response(_ABC, epsilon="1/2"), policies.local(_ABC)
    some, two = policies.local(_ABCD, sensitive=["a", "b"]), ["a", "b"]
    yield "uRR", 1, local.utility_optimised_response(_ABCD, sensitive=two, epsilon=1), some
    yield "RAPPOR", 1, local.rappor(_ABC, epsilon=1), policies.local(_ABC)
    yield "optimised unary", 2, local.optimised_unary(_ABC, epsilon=2), policies.local(_ABC)
    less = policies.local(_ABC, sensitive=two)
    yield "uRAP", 1, local.utility_optimised_rappor(_ABC, sensitive=two, epsilon=1), less
    # Neighbours on a line, both ways: the truncated geometric.
    joined = list(pairwise(_ABCD))
    for policy in (
        policies.local(_ABCD, edges=[*joined, *((y, x) for x, y in joined)]),
        _weighted(),
    ):
        yield "context-aware channel", 1, local.context_aware(policy, epsilon=1), policy


def _weighted() -> Policy:
    """A cycle that is easier one way than the other, and a letter that only hides others."""
    return policies.local(
        _ABCD, edges=[("a", "b", 1), ("b", "a", 2), ("b", "c", "1/2"), ("c", "b", 3), ("a", "d", 1)]
    )


def _broken_responses() -> Iterator[Line]:
    binary = ("yes", "no")
    warner, both = local.warner(binary, epsilon="3/2"), policies.local(binary)
    for run, flaw, seen in (
        (truthful_coin, "truth told too often", "textbook coin flips"),
        (fresh_reports, "asked again, answered afresh", "daily surveys"),
    ):
        yield _broken(warner, both, _wrong(run, warner), name="Warner", flaw=flaw, seen=seen)
    rounded = Client(coarse(warner))
    yield _broken(warner, both, rounded, name="Warner", flaw="chance rounded", seen="dice")
    some = policies.local(_ABCD, sensitive=["a", "b"])
    right = local.utility_optimised_response(_ABCD, sensitive=["a", "b"], epsilon=1)
    flaw, seen = "a sensitive letter is reported as an open one", "k-ary code reused"
    yield _broken(right, some, _wrong(others_tell, right), name="uRR", flaw=flaw, seen=seen)


def _broken_bits() -> Iterator[Line]:
    right, policy = local.rappor(_ABC, epsilon=1), policies.local(_ABC)
    for run, flaw, seen, world in (
        (shared_bits, "bits shared between users", "a seed in the configuration", _TWO),
        (fresh_reports, "not remembered, sent twice", "RAPPOR without its memory", _ONE),
        (remembered_flips, "flips remembered, not the report", "RAPPOR memoised wrongly", _ONE),
    ):
        wrong = _wrong(run, right)
        yield _broken(right, policy, wrong, name="RAPPOR", flaw=flaw, seen=seen, universe=world)
    less = policies.local(_ABC, sensitive=["a", "b"])
    split = local.utility_optimised_rappor(_ABC, sensitive=["a", "b"], epsilon=1)
    whole = Client(whole_budget(split))
    flaw, seen = "ε spent on one of two bits", "uRR's chance in uRAP"
    yield _broken(split, less, whole, name="uRAP", flaw=flaw, seen=seen)


def _broken_directions() -> Iterator[Line]:
    binary = ("yes", "no")
    hidden = policies.local(binary, sensitive=["yes"])
    right = local.mangat(binary, sensitive="yes", epsilon=1)
    swapped = Client(local.mangat(binary, sensitive="no", epsilon=1))
    flaw, seen = "direction swapped", "the other answer hidden"
    yield _broken(right, hidden, swapped, name="Mangat", flaw=flaw, seen=seen)
    policy = _weighted()
    weights = {(e.source, e.target): e.weight for e in policy.edges}
    backwards = [(x, y, weights.get((y, x), weight)) for (x, y), weight in weights.items()]
    back = Client(local.context_aware(policies.local(_ABCD, edges=backwards), epsilon=1))
    right_way = local.context_aware(policy, epsilon=1)
    flaw, seen = "weights read backwards", "a transposed matrix"
    yield _broken(right_way, policy, back, name="context-aware channel", flaw=flaw, seen=seen)


def _wrong(run: Callable[..., Any], right: Randomiser) -> Wrong:
    return Wrong(partial(run, right=right))


def _broken(
    right: Randomiser, policy: Policy, wrong: Any, *, universe: Universe = _ONE, **said: Any
) -> Line:
    claims = right.losses(policy)
    return Line(said.pop("name"), policy, wrong, claims, universe=universe, **said)


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
