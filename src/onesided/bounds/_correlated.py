"""What correlated records tell of each other: φ-freedom under a declared law, not only alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from fractions import Fraction
from math import comb
from typing import Any, Final, TypeAlias

from onesided._numbers import (
    INFINITE,
    Infinite,
    Loss,
    Number,
    log_up,
    non_negative,
    probability,
    shown,
    whole,
)
from onesided._plugins import optional
from onesided.bounds._limits import exp_up, short_up
from onesided.errors import ParameterError
from onesided.fields import Field, Fields, inside, is_flag, is_text, listing, of, read, table
from onesided.policy import Policy, Record, path
from onesided.store import toml_document

World: TypeAlias = tuple[Record, ...]
Law: TypeAlias = dict[World, Fraction]
_MOST: Final = 4096
_FINE: Final = 2**60
# What is larger decides nothing, and is taken as INFINITE.
_LARGEST: Final = 2**512


def _law(given: object, *, name: str) -> Law:
    if not isinstance(given, Mapping) or not given or len(given) > _MOST:
        raise ParameterError(
            f"{name} must weigh 1 to {_MOST:,} worlds, each a tuple of records.",
            hint="For example {(Record(...), Record(...)): '1/3', ...}.",
        )
    read: Law = {}
    for world, weight in given.items():
        if not isinstance(world, tuple) or not all(isinstance(one, Record) for one in world):
            raise ParameterError(f"{world!r} is no tuple of records.", hint="Write (Record(...),).")
        read[world] = non_negative(weight, name="the weight of a world")
    if len(set(map(len, read))) != 1 or not any(read.values()):
        raise ParameterError(
            "The worlds differ in how many records they have, or none has a weight.",
            hint="Each world lists the same people in the same order.",
        )
    return {world: weight for world, weight in read.items() if weight}


@dataclass(frozen=True)
class Correlation:
    """What an attacker knows of records together: a law over worlds, and what they want to know.

    law: the weight of each world, a tuple of the records of the same people in the same order.
    secret: true or false of a world. words: the secret in words, for sentences.

    >>> from onesided.policy import Record, presence
    >>> there, away = Record("unit", frozenset({"clinic"})), Record("unit")
    >>> couple = household(there, away, others=1, together="1/2")
    >>> policy = presence(max_groups=1)
    >>> couple.likelihood(policy, epsilon=0), f"{float(couple.freedom(policy, epsilon=1)):.3f}"
    (Fraction(1, 1), '1.620')
    """

    law: Field[Mapping[World, Number], Law] = Field(_law)
    secret: Callable[[World], bool] = bool
    _: KW_ONLY
    words: str = "the secret"

    def likelihood(self, policy: Policy, *, epsilon: Number) -> Loss:
        """The most by which an answer can multiply the odds of the secret, rounded up.

        It holds for every mechanism that keeps (ε, policy), and for all answers that lose ε
        together; INFINITE where some world with the secret need not pass as any without it.
        Proof: docs/proofs/correlations.md. Errors: MissingDependencyError without SciPy.
        """
        loss = non_negative(epsilon, name="epsilon")
        true, false = self.sides()
        if not true or not false:
            return Fraction(1)
        costs: list[dict[int, Fraction]] = []
        for real in true:
            ways = (exp_up(_scaled(loss, _far(policy, real, other))) for other in false)
            found = {
                place: c
                for place, c in enumerate(ways)
                if not isinstance(c, Infinite) and c <= _LARGEST
            }
            if not found:
                return INFINITE
            costs.append(found)
        mass, room = list(true.values()), list(false.values())
        return short_up(_worst(costs, _plan(costs, mass, room), mass, room))

    def freedom(self, policy: Policy, *, epsilon: Number) -> Loss:
        """φ: the logarithm of :meth:`likelihood`, rounded up, to be compared with ε."""
        factor = self.likelihood(policy, epsilon=epsilon)
        return factor if isinstance(factor, Infinite) else log_up(max(factor, Fraction(1)), bits=96)

    def sides(self) -> tuple[Law, Law]:
        """The worlds with the secret and those without, each with weights that sum to 1."""
        return _side(self, holds=True), _side(self, holds=False)

    def sentence(self, policy: Policy, epsilon: Number) -> str:
        """What the attacker can learn, in plain words; ``policy.explain(correlation=)`` ends so."""
        factor = self.likelihood(policy, epsilon=epsilon)
        start = f"With the declared correlation: the odds of {self.words}"
        if isinstance(factor, Infinite):
            return f"{start} can become certain: a fact that is not protected reveals it."
        return f"{start} grow by at most a factor of {shown(factor, up=True)}."


def household(
    there: Record, away: Record, *, others: int, together: Number, apart: Number = 0
) -> Correlation:
    """A person, and others who each go along with a probability, each on their own.

    together: how likely each other is ``there`` if the person is; apart: if the person is away.
    Errors: ParameterError.

    >>> from onesided.policy import Record
    >>> household(Record("record"), Record("absent"), others=2, together="1/2").words
    'the person being there'
    """
    many = whole(others, name="others", most=_MOST // 2 - 1)
    law: Law = {}
    for own, share in ((there, together), (away, apart)):
        chance = probability(share, name="together" if own is there else "apart")
        for along in range(many + 1):
            weight = comb(many, along) * chance**along * (1 - chance) ** (many - along)
            law[(own, *[there] * along, *[away] * (many - along))] = weight
    return Correlation(law, lambda world: world[0] == there, words="the person being there")


def walk(
    start: Mapping[Hashable, Number],
    steps: Mapping[Hashable, Mapping[Hashable, Number]],
    *,
    length: int,
    place: str,
    time: int,
    kind: str = "unit",
) -> Correlation:
    """One person on a Markov path, who may want to hide that they were in ``place`` at ``time``.

    start: a weight for each place at time 0; steps: for each place, those of the next. A place of
    None is no group; a speed limit is a table of steps that lists only nearby places. Groups are
    called "place@time". Errors: ParameterError, also for more than 4,096 ways.

    >>> from onesided.policy import presence
    >>> still = walk({"ward": 1, None: 1}, {"ward": {"ward": 1}, None: {None: 1}},
    ...              length=2, place="ward", time=0)
    >>> print(presence(max_groups=1).explain(correlation=still).splitlines()[-1])
    With the declared correlation: the odds of being in 'ward' at time 0 grow by at most a factor of
    ≤ 7.39.
    """
    hours = whole(length, name="length", least=1)
    ways: dict[tuple[Hashable, ...], Fraction] = {
        (one,): non_negative(weight, name="a weight of start") for one, weight in start.items()
    }
    for _ in range(hours - 1):
        if lost := {way[-1] for way in ways} - set(steps):
            raise ParameterError(
                f"steps does not say where {lost.pop()!r} leads.", hint="Give it a row of weights."
            )
        ways = {
            (*way, there): weight * non_negative(step, name="a weight of steps")
            for way, weight in ways.items()
            for there, step in _shares(steps[way[-1]]).items()
            if weight and step
        }
        if len(ways) > _MOST:
            raise ParameterError(
                f"There are more than {_MOST:,} ways.", hint="Give fewer places or steps."
            )
    hidden = f"{place}@{whole(time, name='time', most=hours - 1)}"
    law: Law = {}
    for way, weight in ways.items():
        groups = frozenset(f"{one}@{t}" for t, one in enumerate(way) if one is not None)
        world = (Record(kind, groups),)
        law[world] = law.get(world, Fraction(0)) + weight

    def told(world: World) -> bool:
        return isinstance(value := world[0].value, frozenset) and hidden in value

    return Correlation(law, told, words=f"being in {place!r} at time {time}")


def _shares(row: Mapping[Hashable, Number]) -> dict[Hashable, Fraction]:
    weights = {one: non_negative(weight, name="a weight of steps") for one, weight in row.items()}
    total = sum(weights.values())
    if not total:
        raise ParameterError("A row of steps weighs nothing.", hint="Give some place a weight.")
    return {one: weight / total for one, weight in weights.items()}


def _side(known: Correlation, *, holds: bool) -> Law:
    chosen = {w: weight for w, weight in known.law.items() if bool(known.secret(w)) is holds}
    total = sum(chosen.values())
    return {world: weight / total for world, weight in chosen.items()}


def _scaled(loss: Fraction, far: Loss) -> Loss:
    return far if isinstance(far, Infinite) else loss * far


def _far(policy: Policy, real: World, other: World) -> Loss:
    """The least total weight of moves from one world to another, person by person."""
    total: Loss = Fraction(0)
    for one, two in zip(real, other, strict=True):
        if one != two:
            way = path(policy, one, two, records=_between(one, two))
            if way is None:
                return INFINITE
            total += way.length
    return total


def _between(one: Record, two: Record) -> tuple[Record, ...]:
    """The two and, where groups are dropped or added, those with some of them."""
    here, there = one.value, two.value
    if not (isinstance(here, frozenset) and isinstance(there, frozenset)) or one.kind != two.kind:
        return one, two
    more, less = (here, there) if there <= here else (there, here)
    extra = sorted(more - less, key=repr)
    steps = (Record(one.kind, less | frozenset(extra[:size])) for size in range(1, len(extra)))
    return (one, two, *steps) if less <= more else (one, two)


def _plan(
    costs: Sequence[Mapping[int, Fraction]], mass: Sequence[Fraction], room: Sequence[Fraction]
) -> list[dict[int, Fraction]]:
    """How each world with the secret is split over those that it must be able to pass as.

    Any plan gives a bound that holds; floats and a solver look for a good one, nothing more.
    """
    cells = [(row, column) for row, ways in enumerate(costs) for column in ways]
    # The split that a linear programme finds: least λ with every column at most λ times its room.
    # Shares of a row are looked for, not masses, so that all numbers are of one size.
    optimize, sparse = _scipy("optimize"), _scipy("sparse")
    last, size = len(cells), len(cells) + 1
    rows = [row for row, _ in cells]
    columns = [column for _, column in cells]
    loads = [
        float(min(costs[row][column] * mass[row] / room[column], Fraction(_LARGEST)))
        for row, column in cells
    ]
    ones = sparse.coo_matrix(([1.0] * last, (rows, range(last))), shape=(len(mass), size))
    above = sparse.coo_matrix(
        (
            [*loads, *([-1.0] * len(room))],
            ([*columns, *range(len(room))], [*range(last), *([last] * len(room))]),
        ),
        shape=(len(room), size),
    )
    found: Any = optimize.linprog(
        [*([0.0] * last), 1.0],
        A_ub=above.tocsr(),
        b_ub=[0.0] * len(room),
        A_eq=ones.tocsr(),
        b_eq=[1.0] * len(mass),
        method="highs",
    )
    shares = [1.0] * last if found.x is None else found.x[:last].tolist()
    split = dict(zip(cells, shares, strict=True))
    plan: list[dict[int, Fraction]] = []
    for row, ways in enumerate(costs):
        parts = {c: Fraction(max(int(split[row, c] * _FINE), 0)) for c in ways}
        total = sum(parts.values())
        if not total:
            parts, total = {min(ways, key=ways.__getitem__): Fraction(1)}, Fraction(1)
        plan.append({c: part * mass[row] / total for c, part in parts.items() if part})
    return plan


def _worst(
    costs: Sequence[Mapping[int, Fraction]],
    plan: Sequence[Mapping[int, Fraction]],
    mass: Sequence[Fraction],
    room: Sequence[Fraction],
) -> Fraction:
    """The bound of a plan, exactly: the most that lands in a column, for what it has room."""
    if any(sum(parts.values()) != own for parts, own in zip(plan, mass, strict=True)):
        raise ParameterError("A plan must split each world whole.", hint="Report this mistake.")
    loads = [Fraction(0)] * len(room)
    for row, parts in enumerate(plan):
        for column, part in parts.items():
            loads[column] += costs[row][column] * part
    return max(load / own for load, own in zip(loads, room, strict=True))


def _scipy(part: str) -> Any:
    reason = "What correlated records tell needs SciPy's solver, and SciPy is not installed."
    return optional(f"scipy.{part}", reason, 'pip install "onesided[linear]"')


# Correlations from versioned TOML: a closed language of households, walks and listed worlds.
#
# onesided_correlation = 1
# kind = "household"
#
# [parameters]
# others = 2
# together = "1/2"
#
# [parameters.there]
# kind = "unit"
# groups = ["clinic"]
#
# [parameters.away]
# kind = "unit"

VERSION: Final = 1
_SEE: Final = "See docs/policies.md for an example of each kind."


def correlation_from_toml(text: str) -> Correlation:
    r"""Read a correlation that somebody declared in a file; numbers are exact, as written.

    kind: "household", "walk" or "worlds"; parameters: those of :func:`household` and :func:`walk`,
    or the listed worlds, each with its weight, whether the secret holds, and its records.
    Errors: ParameterError naming the line and the field for what is no such text.

    >>> lines = ['onesided_correlation = 1', 'kind = "household"', '[parameters]', 'others = 1',
    ...          'together = "1/2"', 'there = {kind = "record"}', 'away = {kind = "absent"}']
    >>> known = correlation_from_toml("\n".join(lines))
    >>> known.words
    'the person being there'
    """
    with toml_document(
        text,
        what="correlation",
        hint=_SEE,
        error=ParameterError,
        number=Decimal,
        version=("onesided_correlation", VERSION),
    ) as document:
        kind = document.get("kind")
        if not isinstance(kind, str) or kind not in _KINDS:
            known = f"Known: {', '.join(_KINDS)}."
            raise ParameterError(f"Unknown kind of correlation {kind!r}.", hint=known, key="kind")
        fields, make = _KINDS[kind]
        parameters = Field[Any, Any](lambda given, *, name: read(fields, given, what=name))
        given = read({**_DOCUMENT, "parameters": parameters}, document, what="the file")
        try:
            return make(**given["parameters"])
        except ParameterError as error:
            raise inside(error, "parameters") from None


def _record(given: object, *, name: str) -> Record:
    """A kind, with groups, or one value, or neither."""
    row = read(_RECORD, given, what=name, name=name)
    if len(row) == len(_RECORD):
        raise ParameterError(f"{name} has groups and a value: {given!r}.", hint="Give one of them.")
    held = frozenset(row["groups"]) if "groups" in row else row.get("value", frozenset())
    return Record(row["kind"], held)


def _walk(
    start: Mapping[str, Number],
    steps: Mapping[str, Mapping[str, Number]],
    *,
    nowhere: str = "",
    record: str = "unit",
    **given: Any,
) -> Correlation:
    """nowhere: the place that is no group."""

    def placed(row: Mapping[str, Any]) -> dict[Any, Any]:
        return {None if nowhere and one == nowhere else one: row[one] for one in row}

    rows = {one: placed(row) for one, row in placed(steps).items()}
    return walk(placed(start), rows, kind=record, **given)


def _worlds(worlds: Sequence[Mapping[str, Any]], words: str = "the secret") -> Correlation:
    law: dict[World, Number] = {}
    secret: dict[World, bool] = {}
    for row in worlds:
        world = tuple(row["records"])
        if world in law:
            raise ParameterError(
                f"The world {row['records']!r} is listed twice.", hint="Add up its weights."
            )
        law[world], secret[world] = row["weight"], row["secret"]
    return Correlation(law, secret.__getitem__, words=words)


def _world(given: object, *, name: str) -> dict[str, Any]:
    return read(_WORLD, given, what=name, name=name)


_number: Final = of("a number", int, str, Decimal)
_DOCUMENT: Final[Fields] = {"kind": Field(is_text)}
_RECORD: Final[Fields] = {
    "kind": Field(is_text, example='"unit"'),
    "groups": Field(listing(of("a group, text or a whole number", str, int)), default=None),
    "value": Field(of("text or a whole number", str, int), default=None),
}
_WORLD: Final[Fields] = {
    "weight": Field(_number, example='"1/4"'),
    "secret": Field(is_flag, example="true"),
    "records": Field(listing(_record, "a list of records"), example='[{kind = "unit"}]'),
}
_KINDS: Final[Mapping[str, tuple[Fields, Callable[..., Correlation]]]] = {
    "household": (
        {
            "there": Field(_record, example='{kind = "unit", groups = ["clinic"]}'),
            "away": Field(_record, example='{kind = "unit"}'),
            "others": Field(whole, example="2"),
            "together": Field(_number, example='"1/2"'),
            "apart": Field(_number, default=0, example="0.1"),
        },
        household,
    ),
    "walk": (
        {
            "start": Field(table(_number), example="{ward = 1}"),
            "steps": Field(table(table(_number)), example="{ward = {ward = 1}}"),
            "length": Field(whole, example="2"),
            "place": Field(is_text, example='"ward"'),
            "time": Field(whole, example="0"),
            "record": Field(is_text, default="unit", example='"unit"'),
            "nowhere": Field(is_text, default="", example='"out"'),
        },
        _walk,
    ),
    "worlds": (
        {
            "worlds": Field(listing(_world, "a list of tables")),
            "words": Field(is_text, default="the secret", example='"being there"'),
        },
        _worlds,
    ),
}
