"""Decisions that are likely: on every path of the noise, how often one is on the wrong side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided import session as questions
from onesided.noise import IntArray
from onesided.session.kit import prepared
from onesided_proofs.cases import sessions
from onesided_proofs.checks._certificates import Certificate, Said, of_interval

_LIMIT: Final = 30
_AROUND: Final = ((_LIMIT, _LIMIT + 1), (_LIMIT + 1,) * 2, (_LIMIT,) * 2, (_LIMIT - 1,) * 2)


def likely() -> Iterator[Certificate]:
    """Both sides of each threshold, with noise on both and on the other alone; and a control."""
    both, above = policies.bounded(), policies.presence(max_groups=1)
    cut: dict[str, Any] = {"max_groups": 1, "on_excess": "truncate"}
    for policy, asked in (
        (both, questions.AtMost(_LIMIT, **_shared(2), **cut)),
        (both, questions.AtLeast(_LIMIT, **_shared(2), **cut)),
        (above, questions.AtLeast(_LIMIT, **_shared(1))),
    ):
        yield _decided(policy, asked, f"{type(asked).__name__}, likely")
    one = {**_shared(2), **cut, "of": {"both": ("p", "q")}, "simultaneous": False}
    yield _decided(both, questions.AtMost(_LIMIT, **one), "AtMost, likely of a compound")
    alone = questions.AtMost(_LIMIT, **_shared(2), **cut, simultaneous=False)
    yield _decided(both, alone, "AtMost, likely of each group, told of all together", sound=False)


def reached() -> Iterator[Certificate]:
    """Bounds of those groups alone that an answer names, and all of these at once."""
    both, above = policies.bounded(), policies.presence(max_groups=1)
    below = policies.sensitive("kind = 'sensitive'")
    cut: dict[str, Any] = {"max_groups": 1, "on_excess": "truncate"}
    opened: dict[str, Any] = {"max_groups": 1, "counted": "open"}
    for policy, asked in (
        (above, questions.AtMost(3, **_shared(2))),
        (above, questions.Above((3, 4), max_answers=1, **_shared(2))),
        (above, questions.Above(3, max_answers=1, adaptive=True, **_shared(6))),
        (below, questions.Below(3, max_answers=1, **_shared(2), **opened)),
        (above, questions.TopK(k=1, **_shared(2))),
        (both, questions.TopK(k=1, confidence="1/2", **_shared(2), **cut)),
    ):
        yield _named(policy, asked)
    other = _named(above, questions.Above(3, max_answers=1, **_shared(2)), moved=-1)
    yield replace(other, name="Above, bounds one too small", sound=False)


def _named(policy: policies.Policy, asked: Any, *, moved: int = 0) -> Certificate:
    steps = prepared(sessions.Asked(policy, asked).session(()), asked)

    def read(answer: Any, truth: IntArray) -> Said:
        release = steps.result(answer, None)
        bounds = replace(release.interval, upper=release.interval.upper + moved)
        own = [asked.keys.index(key) for key in release.keys.arrays[0]]
        return of_interval(bounds, truth[own], together=True)

    return Certificate(
        name=f"session: {type(asked).__name__} under {policy.name}",
        run=steps.draw,
        read=read,
        truths=((3, 4), (2, 5)),
        confidence=Fraction(1, 2),
        least=False,
    )


def _shared(epsilon: int) -> dict[str, Any]:
    return {"by": "place", "keys": ("p", "q"), "epsilon": epsilon}


def _decided(policy: policies.Policy, asked: Any, name: str, *, sound: bool = True) -> Certificate:
    """All decisions are right at once, but for 1 in 20 times; one step closer, they are not."""
    steps = prepared(sessions.Asked(policy, asked).session(()), asked)
    most = _LIMIT - isinstance(asked, questions.AtLeast)

    def read(answer: Any, truth: IntArray) -> Said:
        release = steps.result(answer, None)
        told = release.likely.values()
        # A compound is beyond where its largest group is.
        own = truth if len(told) == truth.size else truth.max(keepdims=True)
        nothing, beyond = np.zeros(0, dtype=np.bool_), own > most
        high = np.array([one.startswith(("more than", "at least")) for one in told])
        low = np.array([one.startswith(("fewer than", "at most")) for one in told])
        near_high, near_low = release.lower + 1 > most, release.upper - 1 <= most
        right = np.array([not (np.where(beyond, low, high)).any()])
        closer = np.array([not (np.where(beyond, near_low, near_high)).any()])
        return Said(nothing, nothing, right, closer, nothing)

    return Certificate(
        name=name,
        run=steps.draw,
        read=read,
        truths=_AROUND,
        confidence=Fraction(95, 100),
        sound=sound,
    )
