"""The six sparse-vector variants that Lyu, Su and Li compare (PVLDB 10(6), 2017, Figure 1); others.

Each answers the queries "is the first (second, ...) group in the only record?", of sensitivity 1,
against the threshold 0. Laplace noise of scale s is here the two-sided geometric of rate 1/s, and
the proofs carry over: they only shift noise by whole steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from onesided import policy as policies
from onesided.noise import Noise
from onesided.policy import Policy, Record
from onesided.verify import Data, Line, Universe, program

_LOOSE = "reached by more queries only"
Answers = tuple[object, ...]
_Variant = Callable[[list[int], Noise, Fraction, int], Answers]


def cases() -> Iterator[Line]:
    """Two right and four wrong variants, and two habits of research code."""
    # The six of Lyu, Su and Li.
    yield _case("SVT 1", variant_1, 2, "cd", loose=_LOOSE)
    yield _case("SVT 2", variant_2, 8, "cd", c=2, loose=_LOOSE, tail=1e-9, unseen=1e-4)
    yield from _wrong_variants()
    together, cut = policies.unbounded(), "a threshold cut to int"
    yield _case("SVT, one threshold", one_threshold, 1, "cde", together)
    for run, groups, flaw, seen in (
        (redrawn, "cde", "threshold noise redrawn for every query", "adp-algorithms' habits"),
        (truncated_threshold, "c", "threshold noise truncated to an integer", cut),
    ):
        research = f"research code ({seen})"
        yield _case("SVT", run, 1, groups, together, flaw=flaw, seen=research)


def _wrong_variants() -> Iterator[Line]:
    """Four of the six."""
    for variant, epsilon, flaw, seen in (
        (variant_3, 4, "publishes the noisy answer that was compared", "3 (Roth's notes 2011)"),
        (variant_4, 4, "query noise too small by a factor of about 2c", "4 (Lee and Clifton 2014)"),
        (variant_5, 2, "no noise on the queries, no limit on yes", "5 (Stoddard et al. 2014)"),
        (variant_6, 4, "yes without limit at the price of one", "6 (Chen et al. 2015)"),
    ):
        about: dict[str, Any] = {"flaw": flaw, "seen": f"Lyu, Su and Li 2017, Algorithm {seen}"}
        groups = "cd" if variant is variant_5 else "cdef"
        if variant is not variant_5:
            about["tail"] = 1e-8
        yield _case(f"SVT {seen[0]}", variant, epsilon, groups, **about)


def _case(
    name: str,
    variant: _Variant,
    epsilon: int,
    groups: str,
    policy: Policy | None = None,
    *,
    c: int = 1,
    **options: Any,
) -> Line:
    """Half of the queries may fall while the others rise: the worst that sensitivity 1 allows.

    Or, under a policy of its own, all fall or rise together.
    """
    every, middle = frozenset(groups), (len(groups) + 1) // 2
    held = (frozenset(groups[:middle]), frozenset(groups[middle:]), every, frozenset[str]())
    values = tuple(Record("record", value) for value in held)
    if policy is not None:
        values = Record("record", every), Record("absent")
    world = Universe(groups=tuple(groups), units=1, values=values)
    run = partial(_run, variant=variant, epsilon=Fraction(epsilon), c=c, groups=groups)
    return program(name, run, policy or policies.bounded(), epsilon, universe=world, **options)


def _run(
    data: Data, noise: Noise, *, variant: _Variant, epsilon: Fraction, c: int, groups: str
) -> Answers:
    return variant(queries(data, groups), noise, epsilon, c)


def queries(data: Data, groups: Sequence[str]) -> list[int]:
    """One count per group."""
    return [sum(group in record.value for record in data) for group in groups]  # type: ignore[operator]


def laplace(noise: Noise, rate: Fraction) -> int:
    """One draw of the two-sided geometric."""
    return int(noise.two_sided(rate, rate, 1)[0])


def variant_1(asked: list[int], noise: Noise, epsilon: Fraction, c: int) -> Answers:
    """Right. Lyu, Su and Li's own: threshold noise once, query noise 2c/ε2."""
    rho, out = laplace(noise, epsilon / 2), []
    for query in asked:
        above = query + laplace(noise, epsilon / 2 / (2 * c)) >= rho
        out.append(above)
        if sum(out) >= c:
            break
    return tuple(out)


def variant_2(asked: list[int], noise: Noise, epsilon: Fraction, c: int) -> Answers:
    """Right. Dwork and Roth's book: threshold noise c/ε1, drawn afresh after each yes."""
    rho, out = laplace(noise, epsilon / 2 / c), []
    for query in asked:
        above = query + laplace(noise, epsilon / 2 / (2 * c)) >= rho
        out.append(above)
        if above and sum(out) < c:
            rho = laplace(noise, epsilon / 2 / c)
        elif above:
            break
    return tuple(out)


def variant_3(asked: list[int], noise: Noise, epsilon: Fraction, c: int) -> Answers:
    """Wrong. Roth's lecture notes 2011: publishes the very noisy answer that was compared."""
    rho, out, yes = laplace(noise, epsilon / 2), [], 0
    for query in asked:
        noisy = query + laplace(noise, epsilon / 2 / c)
        out.append(noisy if noisy >= rho else None)
        yes += noisy >= rho
        if yes >= c:
            break
    return tuple(out)


def variant_4(asked: list[int], noise: Noise, epsilon: Fraction, c: int) -> Answers:
    """Wrong. Lee and Clifton 2014: query noise does not grow with c."""
    rho, out = laplace(noise, epsilon / 4), []
    for query in asked:
        out.append(query + laplace(noise, epsilon * 3 / 4) >= rho)
        if sum(out) >= c:
            break
    return tuple(out)


def variant_5(asked: list[int], noise: Noise, epsilon: Fraction, _c: int) -> Answers:
    """Wrong. Stoddard, Chen and Machanavajjhala 2014: no query noise, no limit on yes."""
    rho = laplace(noise, epsilon / 2)
    return tuple(query >= rho for query in asked)


def variant_6(asked: list[int], noise: Noise, epsilon: Fraction, _c: int) -> Answers:
    """Wrong. Chen, Xiao, Zhang and Xu 2015: query noise for one yes, no limit on yes."""
    rho = laplace(noise, epsilon / 2)
    return tuple(query + laplace(noise, epsilon / 2) >= rho for query in asked)


def one_threshold(asked: list[int], noise: Noise, epsilon: Fraction, _c: int) -> Answers:
    """Right, for queries that all move together: one noisy threshold hides all of them at once."""
    rho, out = laplace(noise, epsilon), []
    for query in asked:
        out.append(query >= rho - 1)
        if out[-1]:
            break
    return tuple(out)


def redrawn(asked: list[int], noise: Noise, epsilon: Fraction, _c: int) -> Answers:
    """Wrong. Threshold noise drawn for every query: each no now costs as much as a yes."""
    out = []
    for query in asked:
        out.append(query >= laplace(noise, epsilon) - 1)
        if out[-1]:
            break
    return tuple(out)


def truncated_threshold(asked: list[int], noise: Noise, epsilon: Fraction, _c: int) -> Answers:
    """Wrong. Threshold noise on a grid of halves becomes an integer by dropping its fraction.

    Dropping goes towards 0 from both sides, so 0 swallows twice what any other integer gets.
    """
    rho = laplace(noise, epsilon / 2)  # in halves
    threshold = 1 + abs(rho) // 2 * (1 if rho > 0 else -1)
    return tuple(query >= threshold for query in asked)
