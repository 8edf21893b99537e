"""What an answer says of rows of which it is not known whether they count."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from onesided.engine.kit import rule_of
from onesided.errors import ParameterError
from onesided.policy import Predicate
from onesided.session._context import QueryContext, condition

Unknown = Literal["possible", "recorded"]
RECORDED: Final = "what is recorded"
POSSIBLE: Final = "what is possible"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Rows of which it is not known whether they count: public facts, whatever the rows hold.

    keys: columns without a value in which a row is in no group. values: without a value in which
    it is left out. thinned: whether something was made per unit of rows that may have no value.
    where: a condition that may be unknown, or "". possible: whether rows count for which it is.
    passes: whether a CASE takes unknown for no. Where thinned or passes neither side is about the
    truth. gained, lost: whether units of an unknown kind may be counted among others, or not be.
    rises: whether more rows can only raise the answer. units: what these are called.
    """

    keys: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    thinned: bool = False
    where: str = ""
    possible: bool = False
    passes: bool = False
    gained: bool = False
    lost: bool = False
    rises: bool = True
    units: str = "units"

    @property
    def numbers_about(self) -> str:
        """Which numbers the answer is about, where some may have been cut."""
        of = self.about.removeprefix("About ").replace("the data as they are.", "")
        return f"About numbers that may have been cut{', of ' * bool(of)}{of or '.'}"

    @property
    def about(self) -> str:
        """Which data the answer is about."""
        if self.where and self.possible and not self.thinned:
            return "About the data as they may be."
        unsure = self.passes or self.thinned or self.gained or self.lost
        some = self.where or self.keys or self.values or unsure
        return f"About the data as {'recorded' if some else 'they are'}."

    def scope(self, certain: Sequence[str]) -> str:
        """What a certain bound is about; "" where each is about the truth."""
        return " and ".join(what for _, what in self._sides(certain))

    def numbers(self, certain: Sequence[str], words: str) -> str:
        """What a certain bound on numbers in a column is about. words: how they were cut."""
        scope = self.scope(certain)
        return f"{words.removesuffix('.')}{'; of ' * bool(scope)}{scope}"

    def sentence(self, certain: Sequence[str]) -> str:
        """What is said before any number, of certain sides; "" where all rows count or not."""
        said = []
        if self.where and self.possible:
            said.append(f"Counted where {self.where} is true or unknown.")
        elif self.where:
            said.append(
                f"Recorded as {self.where}: rows for which that is unknown are not counted."
            )
        if self.passes:
            said.append("A CASE in the condition takes what is missing for no.")
        if self.gained or self.lost:
            said.append(f"{self.counted} whose kind is unknown count as of the protected kind.")
        if self.thinned:
            said.append("What was made per unit leaves out values that are missing.")
        if self.keys:
            said.append(f"Rows without a value of {_either(self.keys)} are in no group.")
        said += [self.dropped] if self.values else []
        said += [f"A certain {side}bound is about {what}." for side, what in self._sides(certain)]
        return " ".join(said)

    @property
    def dropped(self) -> str:
        """Which rows are left out for a number that is missing; "" for none."""
        named = _either(self.values)
        return f"Rows without a value of {named} are left out." if named else ""

    @property
    def counted(self) -> str:
        """What units are called, at the start of a sentence."""
        return f"{self.units[:1].upper()}{self.units[1:]}"

    def _sides(self, certain: Sequence[str]) -> list[tuple[str, str]]:
        """Which certain bounds are not about the truth, and what they are about."""
        if self.passes or self.thinned:
            return [("", RECORDED)] * bool(certain)
        sides = []
        if self.where and not self.possible:
            sides.append(("upper", RECORDED))
        elif self.keys or self.values:
            named = _either(dict.fromkeys((*self.keys, *self.values)))
            sides.append(("upper", f"rows with a value of {named}"))
        if self.lost:
            sides.append(("upper", f"{self.units} known to be of the kinds counted"))
        if self.where and self.possible:
            sides.append(("lower", POSSIBLE))
        if self.gained:
            sides.append(("lower", f"{self.units} of the kinds counted or of unknown kind"))
        if not self.rises:
            return [("", what) for _, what in sides if certain]
        return [(f"{side} ", what) for side, what in sides if side in certain]


def _either(names: Iterable[str]) -> str:
    return " or ".join(map(repr, names))


NOTHING: Final = LeftOut()


def respelled(said: str, where: str, text: str) -> str:
    """The same sentences of a condition that is spelled otherwise, with columns in order.

    >>> print(respelled("Recorded as a<5: rows without 'c' or 'b' ...", "a<5", '"a" < 5'))
    Recorded as "a" < 5: rows without 'b' or 'c' ...
    """
    for words in ("Recorded as ", "Counted where "):
        said = said.replace(f"{words}{where}", f"{words}{text}")
    return _NAMES.sub(lambda found: " or ".join(sorted(found[0].split(" or "))), said)


# Names of columns as sentences have them.
_NAMES: Final = re.compile(r"'[^']*'(?: or '[^']*')+")


def require_unknown(given: object) -> None:
    """Refuse what is no reading of unknown. Errors: ParameterError."""
    if given not in get_args(Unknown):
        raise ParameterError(
            f"unknown={given!r} is no way to read a condition that is unknown.",
            hint='Write "possible" to count such rows, so that certain upper bounds are about the '
            'truth, or "recorded" to leave them out, so that certain lower bounds are.',
            value=given,
        )


def counted_where(where: object, unknown: Unknown) -> Predicate | None:
    """The condition of the rows that are counted. Errors: ParameterError; ConditionError."""
    require_unknown(unknown)
    chosen = condition(where)
    return chosen if chosen is None or unknown == "recorded" else chosen.or_unknown()


def left_out(
    context: QueryContext,
    by: Sequence[str],
    where: object,
    unknown: Unknown,
    *,
    values: Sequence[str] = (),
    missing: str = "refuse",
) -> LeftOut:
    """What is not known of rows, from what the schema requires. Errors: as counted_where.

    values: columns of numbers, and what becomes of rows that are missing one.
    """
    require_unknown(unknown)
    chosen, filled = condition(where), context.filled
    unsure = chosen is not None and chosen.readable().may_be_unknown(filled)
    passes = chosen is not None and chosen.readable().passes_over(filled)
    named = dict.fromkeys(context.binned.get(name, name) for name in by)
    used = () if chosen is None else chosen.readable().columns
    return LeftOut(
        keys=tuple(n for n in named if n is not None and n not in filled),
        values=tuple(n for n in values if missing == "drop" and n not in filled),
        thinned=bool(context.thinned((*by, *values, *used))),
        where=chosen.text if chosen is not None and unsure else "",
        possible=unknown == "possible" and unsure,
        passes=passes,
        units=context.nouns[1],
    )


def unsure_kinds(context: QueryContext, counted: Collection[str] | None) -> tuple[bool, bool]:
    """Whether units may be counted whose kind is unknown, and whether such may be left out.

    Where a rule is unknown for some row, the unit is taken to be of the rule's kind.
    """
    policy = context.policy
    if counted is None or set(policy.kinds) <= set(counted):
        return False, False
    rules = [*policy.rules, *([] if policy.view is None else [rule_of(policy.view)])]
    filled, unsure = context.filled, set()
    for rule in rules:
        read = [one.readable() for one in rule.predicates]
        if any(one.may_be_unknown(filled) or one.passes_over(filled) for one in read):
            unsure.add(rule.kind)
    return bool(unsure & set(counted)), bool(unsure - set(counted))
