"""Any table of chances from letters to outputs, and the most truthful one of a policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import Loss, Number, probability
from onesided.errors import MissingDependencyError, ParameterError, PolicyError
from onesided.fields import settle
from onesided.mechanism.local._randomiser import (
    FloatArray,
    Randomiser,
    Tally,
    finite,
    letters_of,
    ratio,
    round_up_to,
    shares_of,
    shrink,
)
from onesided.mechanism.local._response import RandomisedResponse, count_answers, count_places
from onesided.noise import IntArray, Noise
from onesided.policy import Local, Policy


@dataclass(frozen=True, slots=True, eq=False)
class AliasTable:
    """A column is drawn uniformly; a coin of that cell keeps it or sends it to its alias.

    One uniform number and one coin per draw, whatever the letter. coins: the different chances;
    which: the cell's coin; alias: where the cell sends.
    """

    coins: tuple[Fraction, ...]
    which: IntArray
    alias: IntArray

    @classmethod
    def of(cls, rows: Sequence[Sequence[Fraction]]) -> AliasTable:
        """For rows of chances that each add up to exactly 1."""
        kept = [_aliased(row) for row in rows]
        coins = {
            chance: place for place, chance in enumerate({c: 0 for row, _ in kept for c in row})
        }
        return cls(
            tuple(coins),
            np.array([[coins[chance] for chance in row] for row, _ in kept], dtype=np.int64),
            np.array([alias for _, alias in kept], dtype=np.int64),
        )

    def draw(self, rows: IntArray, noise: Noise) -> IntArray:
        """One output for each entry, which names its row."""
        columns = noise.uniform(self.which.shape[1], rows.size)
        which = self.which[rows, columns]
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(self.coins)))
        keeps = np.empty(rows.size, dtype=np.bool_)
        start = 0
        for chance, end in zip(self.coins, ends.tolist(), strict=True):
            if end > start:
                keeps[order[start:end]] = noise.bernoulli(chance, end - start)
            start = end
        return np.where(keeps, columns, self.alias[rows, columns])


def _aliased(row: Sequence[Fraction]) -> tuple[list[Fraction], list[int]]:
    """Each cell's chance to keep its own column, and where it sends otherwise.

    Every cell holds 1/m of the mass: a poor column fills up from a rich one.
    """
    mass = [chance * len(row) for chance in row]
    keep, alias = [Fraction(1)] * len(row), list(range(len(row)))
    poor = [place for place, held in enumerate(mass) if held < 1]
    rich = [place for place, held in enumerate(mass) if held > 1]
    while poor:
        small, large = poor.pop(), rich[-1]
        keep[small], alias[small] = mass[small], large
        mass[large] -= 1 - mass[small]
        if mass[large] <= 1:
            rich.pop()
            if mass[large] < 1:
                poor.append(large)
    return keep, alias


# For each edge (x, y), by places: a chance of x times this is the least that y must have.
Least: TypeAlias = Mapping[tuple[int, int], Fraction]
Matrix: TypeAlias = list[list[Fraction]]


def lifted(column: Mapping[int, Fraction], count: int, least: Least) -> list[Fraction]:
    """The least column of 64-bit chances that is not below ``column`` and keeps all constraints.

    Raises each target to what its sources demand. Rounding up keeps ``v(y) >= t v(x)``, and never
    makes a chance larger than the one it came from, so that cycles come to rest.
    """
    held = [round_up_to(column.get(place, Fraction(0)), bits=64) for place in range(count)]
    for _ in range(count + 1):
        changed = False
        for (x, y), share in least.items():
            due = round_up_to(held[x] * share, bits=64)
            if held[y] < due:
                held[y], changed = due, True
        if not changed:
            break
    return held


def solve_ones(matrix: Matrix) -> list[Fraction] | None:
    """The exact solution c of ``matrix @ c = 1``; None if the matrix is singular.

    Bareiss's elimination: whole numbers throughout, no common factors to look for.
    """
    count = len(matrix)
    rows = []  # each with its right-hand side, times what makes all of it whole
    for row in matrix:
        common = max(entry.denominator for entry in row)
        rows.append([*(int(entry * common) for entry in row), common])
    before = 1
    for step in range(count):
        pivot = next((r for r in range(step, count) if rows[r][step]), None)
        if pivot is None:
            return None
        rows[step], rows[pivot] = rows[pivot], rows[step]
        head = rows[step]
        for r in range(step + 1, count):
            left, first = rows[r], rows[r][step]
            for j in range(step, count + 1):
                left[j] = (left[j] * head[step] - first * head[j]) // before
        before = head[step]
    found = [Fraction(0)] * count
    for r in reversed(range(count)):
        rest = sum((rows[r][j] * found[j] for j in range(r + 1, count)), Fraction(0))
        found[r] = (rows[r][count] - rest) / rows[r][r]
    return found


@dataclass(frozen=True, eq=True)
class Channel(Randomiser):
    """Report output o with chance ``chances[x][o]`` if the true letter is x; exact fractions.

    Promise: x passes as y with odds exactly the largest ``chances[x][o] / chances[y][o]``.
    Estimates need rows that are linearly independent: the shares are then ``M seen / people`` with
    M the pseudo-inverse of the transposed table, which is unbiased.
    Errors: ParameterError for outputs that repeat, or rows that are not chances that add up to 1.

    >>> noisy = Channel(["yes", "no"], [["3/4", "1/4"], ["0", "1"]])
    >>> noisy.possible("yes"), noisy.odds("no", "yes"), noisy.odds("yes", "no")
    (('yes',), Fraction(4, 1), INFINITE)
    """

    alphabet: tuple[str, ...]
    outputs: tuple[str, ...]
    chances: tuple[tuple[Fraction, ...], ...]
    _kind = "channel"

    def __init__(
        self,
        alphabet: Iterable[str],
        chances: Sequence[Sequence[Number | Fraction]],
        *,
        outputs: Iterable[str] | None = None,
    ) -> None:
        letters = letters_of(alphabet)
        names = letters if outputs is None else letters_of(outputs)
        table = tuple(tuple(probability(p, name="chance") for p in row) for row in chances)
        wrong = [len(row) != len(names) or sum(row) != 1 for row in table]
        if len(table) != len(letters) or any(wrong):
            where = wrong.index(True) if any(wrong) else len(table)
            raise ParameterError(
                f"The table needs {len(letters)} rows of {len(names)} chances that add up to "
                f"exactly 1; row {where} does not fit.",
                hint='Give fractions such as "1/3": floats rarely add up to exactly 1.',
            )
        settle(self, alphabet=letters, outputs=names, chances=table)

    def odds(self, source: str, target: str) -> Loss:
        real, other = (self.chances[self._places[letter]] for letter in (source, target))
        return max(ratio(p, q) for p, q in zip(real, other, strict=True))

    def possible(self, output: str) -> tuple[str, ...]:
        """The letters that a report may come from: what it tells for certain."""
        if output not in self.outputs:
            raise ParameterError(
                f"There is no output {output!r}.",
                hint=f"The outputs are {', '.join(self.outputs[:12])}.",
            )
        place = self.outputs.index(output)
        return tuple(x for x, row in zip(self.alphabet, self.chances, strict=True) if row[place])

    def variance(self, frequencies: ArrayLike, people: int, *, sampled: bool = False) -> FloatArray:
        shares = shares_of(frequencies, len(self.alphabet))
        squares = self._weights**2 @ self._floats.T @ shares
        known = shares**2 if sampled else shares
        return (squares - known) / people

    @cached_property
    def _floats(self) -> FloatArray:
        return np.array([[float(p) for p in row] for row in self.chances], dtype=np.float64)

    @cached_property
    def _weights(self) -> FloatArray:
        """What each output adds to the estimate of each letter."""
        if np.linalg.matrix_rank(self._floats) < len(self.alphabet):
            raise ParameterError(
                "This channel's rows are linearly dependent: different shares of letters give "
                "the same reports, so they cannot be estimated.",
                hint="Its reports can be sent and counted, but need another channel to be "
                "turned into shares.",
            )
        return np.asarray(np.linalg.pinv(self._floats.T), dtype=np.float64)

    @cached_property
    def _table(self) -> AliasTable:
        return AliasTable.of(self.chances)

    def _draw(self, codes: IntArray, noise: Noise) -> IntArray:
        return self._table.draw(codes, noise)

    def _answer(self, output: Any) -> str:
        return self.outputs[int(output)]

    def _seen_in(self, answers: Mapping[str, int]) -> IntArray:
        return count_answers(answers, self.outputs)

    def _seen(self, outputs: Any) -> IntArray:
        return count_places(outputs, len(self.outputs))

    def _frequencies(self, tally: Tally) -> FloatArray:
        return self._weights @ (tally.seen / tally.people)

    def _widths(self) -> FloatArray:
        # Outputs that never occur cannot move anything.
        used = self._weights[:, self._floats.any(axis=0)]
        return np.asarray(used.max(axis=1) - used.min(axis=1))

    def _certain(self, tally: Tally) -> tuple[IntArray, IntArray]:
        """An output counts for a letter if only it gives it, against it if it never does."""
        can = np.array([[chance > 0 for chance in row] for row in self.chances])
        alone = can & (can.sum(axis=0) == 1)
        return alone @ tally.seen, can @ tally.seen

    @property
    def _outputs(self) -> int:
        return len(self.outputs)


_NOISE: Final = 1e-9
_BITS: Final = 53
_MOST_SPARE: Final = Fraction(1, 8)


def programmed(count: int, least: Least) -> Matrix:
    """Rows of chances that keep ``least`` exactly; k-ary response at the least weight if need be.

    The programme maximises how far each letter's own report is likelier from it than from any
    other, at least and on average. Floats end here: the table is repaired in exact fractions.
    """
    rows = _exact(_solved(count, least), count, least)
    if rows and np.linalg.matrix_rank([[float(p) for p in row] for row in rows], tol=1e-6) == count:
        return rows
    share = max(least.values())
    own = 1 / (1 + (count - 1) * share)
    return [[own if x == o else own * share for o in range(count)] for x in range(count)]


def _solved(count: int, least: Least) -> FloatArray:
    """The programme's table, as good as floats are."""
    try:
        from scipy.optimize import linprog  # noqa: PLC0415 - optional, and slow to load
        from scipy.sparse import coo_array  # noqa: PLC0415 - as above
    except ImportError:
        raise MissingDependencyError(
            "This policy's randomiser is chosen by a linear programme, which needs scipy.",
            hint="pip install 'onesided[verify]', or use k_ary_response.",
        ) from None
    margin, entries, line = count * count, [], 0
    for (x, y), share in least.items():
        for o in range(count):
            entries += [(line, x * count + o, float(share)), (line, y * count + o, -1.0)]
            line += 1
    for o in range(count):
        for z in set(range(count)) - {o}:
            own, other = o * count + o, z * count + o
            entries += [(line, other, 1.0), (line, own, -1.0), (line, margin, 1.0)]
            line += 1
    rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
    sums = [(x, x * count + o, 1.0) for x in range(count) for o in range(count)]
    ones, where, all_ones = (np.array(part) for part in zip(*sums, strict=True))
    gain = np.zeros(margin + 1)
    gain[[x * count + x for x in range(count)]] = -1 / count
    gain[margin] = -1
    found: Any = linprog(
        gain,
        A_ub=coo_array((values, (rows, columns)), shape=(line, margin + 1)).tocsr(),
        b_ub=np.zeros(line),
        A_eq=coo_array((all_ones, (ones, where)), shape=(count, margin + 1)).tocsr(),
        b_eq=np.ones(count),
        bounds=(0, 1),
        method="highs",
    )
    if found.x is None:
        return np.full((count, count), 1 / count)
    return np.asarray(np.clip(found.x[:margin], 0, 1).reshape(count, count))


def _exact(table: FloatArray, count: int, least: Least) -> Matrix:
    """Lift each column to its constraints, scale down, and give what is missing to one column.

    Sums and multiples of columns that keep the constraints keep them. What the rows lack differs a
    little between letters; scaling makes all of it large enough for that to be within the odds.
    Nothing is returned where that would take too much.
    """
    clean = np.where(table < _NOISE, 0, table)
    columns = [
        lifted({x: Fraction(float(clean[x, o])) for x in range(count)}, count, least)
        for o in range(count)
    ]
    sums = [sum(column[x] for column in columns) for x in range(count)]
    spare = Fraction(1, 2**24)
    while spare < _MOST_SPARE:
        unit = Fraction(1, 2**_BITS)
        scale = (1 - spare) / max(sums) // unit * unit
        lacking = [1 - scale * total for total in sums]
        if all(lacking[x] * share <= lacking[y] for (x, y), share in least.items()):
            break
        spare *= 2
    else:
        return []
    rows = [[scale * column[x] for column in columns] for x in range(count)]
    group = list(range(count))  # the letters that edges join, whichever way, are in one group
    for x, y in least:
        old, new = group[x], group[y]
        group = [new if found == old else found for found in group]
    for joined in dict.fromkeys(group):
        members = [x for x in range(count) if group[x] == joined]
        # The column that is likeliest throughout changes least, and keeps other zeros as they are.
        fullest = max(members, key=lambda o: min(columns[o][x] for x in members))
        for x in members:
            rows[x][fullest] += lacking[x]
    return rows


MOST_LETTERS: Final = 64
MOST_PROGRAMMED: Final = 32


def context_aware(policy: Policy, *, epsilon: Number) -> Channel:
    """A channel for any local policy, with every edge's own weight (context-aware local privacy).

    Promise: along an edge x -> y of weight w the loss is at most ``ε w``, checked exactly before
    the channel is returned. A letter without edges is told as it is.
    If ``t(o, x)`` is e^-ε to the weight of the shortest path from o to x, the channel reports o
    with chance ``c(o) t(o, x)``: as seldom from others as the policy allows. ``c`` makes all rows
    add up to 1, in exact fractions. That gives Warner's, Mangat's, k-ary and utility-optimised
    response, and the truncated geometric on a path. Where no such ``c > 0`` exists, a linear
    programme chooses the channel (needs scipy), and is repaired to exact fractions.
    Errors: PolicyError unless the policy is local; ParameterError for ε, or more letters than 64
    (32 for the programme); MissingDependencyError.
    Source: context-aware local privacy, Acharya et al. (2020); directed, as in Murakami and
    Kawamoto (2019).

    >>> from onesided.policy import local
    >>> near = local(["low", "mid", "high"], edges=[("low", "mid"), ("mid", "low")])
    >>> channel = context_aware(near, epsilon=1)
    >>> channel.possible("high"), round(float(channel.loss("low", "mid")), 6)
    (('high',), 1.0)
    """
    local, exponent = _local(policy), finite(epsilon)
    letters, count = local.kinds, len(local.kinds)
    places = {letter: place for place, letter in enumerate(letters)}
    shrunk = {weight: shrink(exponent * weight) for weight in {e.weight for e in local.edges}}
    least = {(places[e.source], places[e.target]): shrunk[e.weight] for e in local.edges}
    _refuse_large(count, MOST_LETTERS, "exact fractions")
    columns = [lifted({place: Fraction(1)}, count, least) for place in range(count)]
    shares = solve_ones([[columns[o][x] for o in range(count)] for x in range(count)])
    if shares is not None and min(shares) > 0:
        rows = [[shares[o] * columns[o][x] for o in range(count)] for x in range(count)]
    else:
        _refuse_large(count, MOST_PROGRAMMED, "the linear programme that this policy needs")
        rows = programmed(count, least)
    check(rows, letters, least)
    return Channel(letters, rows)


def for_policy(policy: Policy, *, epsilon: Number) -> RandomisedResponse | Channel:
    """The simplest randomiser that keeps ``(epsilon, policy)`` for a local policy.

    Utility-optimised response if every letter with edges passes as all others at one weight, else
    :func:`context_aware`. Errors: as there.

    >>> from onesided.policy import local
    >>> type(for_policy(local(["yes", "no"], sensitive=["yes"]), epsilon=1)).__name__
    'RandomisedResponse'
    """
    local = _local(policy)
    weights = {edge.weight for edge in local.edges}
    sources = {edge.source for edge in local.edges}
    if len(weights) == 1 and len(local.edges) == len(sources) * (len(local.kinds) - 1):
        inverse = shrink(finite(epsilon) * weights.pop())
        decoys = [letter for letter in local.kinds if letter in sources]
        truth = (1 - inverse) / (1 + (len(decoys) - 1) * inverse)
        return RandomisedResponse(local.kinds, decoys, truth)
    return context_aware(local, epsilon=epsilon)


def check(rows: Iterable[Sequence[Fraction]], letters: Sequence[str], least: Least) -> None:
    """Refuse a table that breaks a constraint. It cannot happen, and must not."""
    table = list(rows)
    for (x, y), share in least.items():
        if any(p * share > q for p, q in zip(table[x], table[y], strict=True)):
            raise ParameterError(
                f"No channel was found that hides {letters[x]!r} as {letters[y]!r}.",
                hint="Give a larger epsilon, or fewer edges of very different weights.",
            )


def _refuse_large(count: int, most: int, what: str) -> None:
    if count > most:
        raise ParameterError(
            f"A policy of {count} letters is too large for {what}; at most {most} are taken.",
            hint="Use utility_optimised_response or k_ary_response at epsilon times the least "
            "weight: they take any number of letters.",
            letters=count,
        )


def _local(policy: Policy) -> Local:
    if not isinstance(policy, Local):
        raise PolicyError(
            f"The policy {policy.name!r} is not local: it speaks of records in a table.",
            hint='Use onesided.policy.local(["yes", "no"], sensitive=["yes"]).',
        )
    return policy
