"""What enumeration cannot see, each with a check of its own kind and a control that must fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from onesided.errors import MissingDependencyError
from onesided.mechanism import Counts
from onesided.noise import Noise, NotPrivateSeededNoise, SecureNoise
from onesided.numbers import INFINITE
from onesided.verify import CheckResult, EachCount, agrees, audit, geometric_law
from onesided_proofs.checks._accounted import accounted_checks
from onesided_proofs.checks._added import added_checks
from onesided_proofs.checks._alignments import alignment_checks
from onesided_proofs.checks._arithmetic import arithmetic_checks
from onesided_proofs.checks._certified import certificates
from onesided_proofs.checks._charges import charge_checks
from onesided_proofs.checks._definitions import definition_checks
from onesided_proofs.checks._floats import float_free
from onesided_proofs.checks._gaps import Attack, NaiveLaplace, attack_floats, attack_whole
from onesided_proofs.checks._moved import moved_checks
from onesided_proofs.checks._sampler_checks import sampler_checks
from onesided_proofs.checks._timing import draws_differ
from onesided_proofs.checks._travelled import travelled_checks

_DRAWS: Final = 100_000
_ONE_SIDED: Final = Counts(1, INFINITE)
_SMALL: Final = np.array([0, 0, 1], dtype=np.int64)
_LARGE: Final = np.array([3, 2**40, 2**60], dtype=np.int64)


def own_checks() -> Iterator[CheckResult]:
    """Run them all, one after the other as they are read; half a minute.

    What needs scipy is left out where it is not installed.

    >>> next(own_checks()).right
    True
    """
    # Every certain bound on every path, every confidence against its exact coverage.
    for line in certificates():
        fault = line.fault()
        measured = fault or "holds on every path, as often as is said"
        yield CheckResult("certificates", line.name, measured, not fault, line.sound)
    for group in GROUPS.values():
        yield from group()
    try:
        yield from _laws()
        yield from _audits()
    except MissingDependencyError as error:
        yield CheckResult("law and audit", "left out", error.reason, accepted=True, sound=True)


def _told(checks: Callable[[], Iterable[Any]], well: str) -> Iterator[CheckResult]:
    """What each found, or that it went ``well``."""
    for one in checks():
        yield CheckResult(one.name, one.subject, one.fault or well, not one.fault, one.sound)


def _charges() -> Iterator[Any]:
    """What a real session adds up of its rows, and what its ledger holds after some questions."""
    yield from (*charge_checks(), *added_checks(), *travelled_checks(), *arithmetic_checks())


def repeats(make: Callable[[], Noise], *, draws: int = 64) -> bool:
    """Whether two fresh sources give the same noise: whoever knows the seed can subtract it."""
    first, second = (make().uniform(2**62, draws).tolist() for _ in range(2))
    return bool(first == second)


def _repeats() -> Iterator[CheckResult]:
    name = "two runs differ"
    for subject, make, sound in (
        ("SecureNoise", SecureNoise, True),
        ("a seed fixed at 0 (adp-algorithms, HDMM)", lambda: NotPrivateSeededNoise(0), False),
    ):
        same = repeats(make)
        yield CheckResult(name, subject, "equal" if same else "different", not same, sound)


def _gaps() -> Iterator[CheckResult]:
    """Mironov's attack: answers that rule out the other data for certain."""
    single = NaiveLaplace(bits=24, dtype=np.float32)
    tries: tuple[tuple[str, Attack, bool], ...] = (
        ("Counts, noise above", attack_whole(_ONE_SIDED, SecureNoise()), True),
        ("Counts, noise on both sides", attack_whole(Counts(1, 1), SecureNoise()), True),
        ("Laplace noise in double precision", attack_floats(NaiveLaplace()), False),
        ("Laplace noise in single precision", attack_floats(single), False),
    )
    for subject, attack, sound in tries:
        measured = f"{attack.success:.1%} of answers give the data away"
        yield CheckResult("no missing values", subject, measured, attack.success <= 1e-3, sound)


def _floats() -> Iterator[CheckResult]:
    """Arrays that raise when they are made floats."""
    programs: tuple[tuple[str, Callable[[Noise], Any], bool], ...] = (
        ("Counts", lambda noise: _ONE_SIDED.noisy(_LARGE, noise=noise), True),
        ("noise scaled as a float", lambda noise: np.rint(noise.geometric(1, 3) * 0.5), False),
    )
    for subject, run, sound in programs:
        reason = float_free(run, SecureNoise())
        measured = reason or "whole numbers all the way"
        yield CheckResult("no float reaches an answer", subject, measured, not reason, sound)


def _laws() -> Iterator[CheckResult]:
    """Chi-square at a false-alarm rate of one in a million."""
    for subject, rate, sound in (
        ("SecureNoise", "1", True),
        ("a rate wrong by 10 %", "1.1", False),
    ):
        found = agrees(SecureNoise().geometric(rate, _DRAWS), geometric_law(1))
        measured = f"p = {found.p_value:.1e} in {found.cells} cells"
        yield CheckResult("geometric law", subject, measured, found.accepted, sound)


def _audits() -> Iterator[CheckResult]:
    """A sampled lower bound at ε = 1, falls only."""
    for subject, rate, sound in (
        ("Counts at ε = 1", 1, True),
        ("Counts at half the noise", 2, False),
    ):
        sampler = EachCount(Counts(rate, INFINITE))
        found = audit(sampler, (1, 0), samples=_DRAWS * 4, sampler=True, processes=1)
        measured = f"at least {found.loss:.3f} (confidence {found.confidence:g})"
        yield CheckResult("audit of ε = 1", subject, measured, not found.refutes(1), sound)


def _draws() -> Iterator[CheckResult]:
    """At equal random bits, every input must take equally many of them."""

    def again(values: Any, noise: Noise) -> Any:
        while (answer := values + noise.two_sided(1, 1, len(values))).min() < 0:
            pass
        return answer

    subjects: tuple[tuple[str, Callable[[Any, Noise], Any], bool], ...] = (
        ("Counts", lambda values, noise: Counts(1, 1).noisy(values, noise=noise), True),
        ("drawn again until the answer is not negative", again, False),
    )
    for subject, release, sound in subjects:
        differ = draws_differ(release, _SMALL, _LARGE)
        measured = "draws depend on the counts" if differ else "same draws for all counts"
        yield CheckResult("work does not depend on counts", subject, measured, not differ, sound)


_ALIGNED: Final = "same output on every path, at no more than is said"
# By name, in the order in which they are run.
GROUPS: Final[dict[str, Callable[[], Iterator[CheckResult]]]] = {
    "_alignments": partial(_told, alignment_checks, _ALIGNED),
    "_samplers": partial(_told, sampler_checks, "as the law says"),
    "_charges": partial(_told, _charges, "all that was planned"),
    "_accounted": partial(_told, accounted_checks, "as the laws say"),
    "_moved": partial(_told, moved_checks, "as its moves are"),
    "_definitions": partial(_told, definition_checks, "as defined"),
    "_repeats": _repeats,
    "_gaps": _gaps,
    "_floats": _floats,
    "_draws": _draws,
}
