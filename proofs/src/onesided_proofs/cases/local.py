"""Local randomisers, one person and a crowd of two, under their directed policies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, Final

from onesided import policy as policies
from onesided.mechanism import local
from onesided.mechanism.local import Randomiser
from onesided.numbers import Number
from onesided.policy import Policy
from onesided.verify import Line, Universe
from onesided_proofs.zoo import local as zoo

_ONE: Final = Universe(units=1)
_TWO: Final = Universe(units=2, ordered=True)
_ABC: Final = ("a", "b", "c")
_ABCD: Final = (*_ABC, "d")


def cases() -> Iterator[Line]:
    """The sound first."""
    for name, epsilon, randomiser, policy in _shipped():
        claims = randomiser.losses(policy)
        yield Line(name, policy, zoo.Client(randomiser), claims, universe=_ONE, epsilon=epsilon)
        crowd, both = f"{name} (crowd)", zoo.Crowd(randomiser)
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
        (zoo.truthful_coin, "truth told too often", "textbook coin flips"),
        (zoo.fresh_reports, "asked again, answered afresh", "daily surveys"),
    ):
        yield _broken(warner, both, _wrong(run, warner), name="Warner", flaw=flaw, seen=seen)
    coarse = zoo.Client(zoo.coarse(warner))
    yield _broken(warner, both, coarse, name="Warner", flaw="chance rounded", seen="dice")
    some = policies.local(_ABCD, sensitive=["a", "b"])
    right = local.utility_optimised_response(_ABCD, sensitive=["a", "b"], epsilon=1)
    yield _broken(
        right,
        some,
        _wrong(zoo.others_tell, right),
        name="uRR",
        flaw="a sensitive letter is reported as an open one",
        seen="k-ary code reused",
    )


def _broken_bits() -> Iterator[Line]:
    right, policy = local.rappor(_ABC, epsilon=1), policies.local(_ABC)
    for run, flaw, seen, world in (
        (zoo.shared_bits, "bits shared between users", "a seed in the configuration", _TWO),
        (zoo.fresh_reports, "not remembered, sent twice", "RAPPOR without its memory", _ONE),
        (zoo.remembered_flips, "flips remembered, not the report", "RAPPOR memoised wrongly", _ONE),
    ):
        wrong = _wrong(run, right)
        yield _broken(right, policy, wrong, name="RAPPOR", flaw=flaw, seen=seen, universe=world)
    less = policies.local(_ABC, sensitive=["a", "b"])
    split = local.utility_optimised_rappor(_ABC, sensitive=["a", "b"], epsilon=1)
    whole = zoo.Client(zoo.whole_budget(split))
    flaw, seen = "ε spent on one of two bits", "uRR's chance in uRAP"
    yield _broken(split, less, whole, name="uRAP", flaw=flaw, seen=seen)


def _broken_directions() -> Iterator[Line]:
    binary = ("yes", "no")
    hidden = policies.local(binary, sensitive=["yes"])
    right = local.mangat(binary, sensitive="yes", epsilon=1)
    swapped = zoo.Client(local.mangat(binary, sensitive="no", epsilon=1))
    flaw, seen = "direction swapped", "the other answer hidden"
    yield _broken(right, hidden, swapped, name="Mangat", flaw=flaw, seen=seen)
    policy = _weighted()
    weights = {(e.source, e.target): e.weight for e in policy.edges}
    backwards = [(x, y, weights.get((y, x), weight)) for (x, y), weight in weights.items()]
    back = zoo.Client(local.context_aware(policies.local(_ABCD, edges=backwards), epsilon=1))
    right_way = local.context_aware(policy, epsilon=1)
    flaw, seen = "weights read backwards", "a transposed matrix"
    yield _broken(right_way, policy, back, name="context-aware channel", flaw=flaw, seen=seen)


def _wrong(run: Callable[..., Any], right: Randomiser) -> zoo.Wrong:
    return zoo.Wrong(partial(run, right=right))


def _broken(
    right: Randomiser, policy: Policy, wrong: Any, *, universe: Universe = _ONE, **said: Any
) -> Line:
    claims = right.losses(policy)
    return Line(said.pop("name"), policy, wrong, claims, universe=universe, **said)
