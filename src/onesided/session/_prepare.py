"""Everything about a question that can be checked without looking at a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import narwhals as nw
import numpy as np

from onesided._numbers import Loss, whole
from onesided.errors import ParameterError, UnknownColumnError
from onesided.mechanism import Counts
from onesided.policy import GroupCount, Guarantee, Policy, Predicate, Presence
from onesided.session._keys import PublicKeys, check_types, public_keys
from onesided.session._query import Count, Plan
from onesided.session._release import bounds
from onesided.session._rowwise import require_rowwise

RESULT_COLUMNS: Final = (
    "estimate",
    "lower",
    "upper",
    "lower_certain",
    "upper_certain",
    "certified",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a session is about: its policy, its unit and the types of its columns."""

    policy: Policy
    unit: str | None
    schema: Mapping[str, nw.dtypes.DType]

    @property
    def unit_name(self) -> str:
        """What a ledger calls the unit."""
        return "each row" if self.unit is None else self.unit

    def require(self, *columns: str) -> None:
        """Refuse columns that the table does not have."""
        for name in columns:
            if name not in self.schema:
                raise UnknownColumnError(
                    f"The table has no column {name!r}.",
                    hint=f"Its columns are {', '.join(self.schema)}.",
                    column=name,
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A question that passed every check."""

    question: Count
    unit: str
    by: tuple[str, ...]
    keys: PublicKeys
    query: GroupCount
    excess: str
    where: Predicate | None
    plan: Plan

    @property
    def detail(self) -> dict[str, object]:
        """What identifies the question in the ledger, beside its keys and rates."""
        return {
            "unit": self.unit,
            "by": list(self.by),
            "where": self.where.text if self.where else "",
            "counted": sorted(self.query.counted or ()),
            "max_groups": str(self.query.max_groups or ""),
            "excess": self.excess,
            "about": self.plan.guarantee.about,
        }

    @property
    def label(self) -> str:
        """What the ledger calls it."""
        kinds = f"{', '.join(sorted(self.query.counted))} " if self.query.counted else ""
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f"count of {kinds}units{by}"


def prepare(question: Count, setting: Setting, remaining: Mapping[str, Fraction]) -> Ready:
    """Check ``question`` and price it. Looks at the types of columns, never at rows."""
    by = (question.by,) if isinstance(question.by, str) else tuple(question.by)
    setting.require(*by)
    _refuse_clashes(by, setting.unit)
    keys = public_keys(question.keys, by) if by else PublicKeys((), ((),))
    check_types(keys, setting.schema)
    query, excess = _group_count(question, setting, by)
    mechanism = Counts.for_policy(
        setting.policy,
        epsilon=question.epsilon,
        max_groups=query.max_groups,
        counted=query.counted,
        truncated=query.truncated,
        correction=question.correction,
        clip=True,
    )
    bounds(mechanism, np.zeros(0, dtype=np.int64), question.confidence)
    return Ready(
        question=question,
        unit=setting.unit_name,
        by=by,
        keys=keys,
        query=query,
        excess=excess,
        where=None if question.where is None else _condition(question.where),
        plan=Plan(mechanism, *_price(setting.policy, query, mechanism, remaining, excess=excess)),
    )


def _price(
    policy: Policy,
    query: GroupCount,
    mechanism: Counts,
    remaining: Mapping[str, Fraction],
    *,
    excess: str,
) -> tuple[Mapping[str, Loss], Mapping[str, Fraction], Guarantee]:
    """The loss per edge, what is left, and the guarantee."""
    charge = {
        edge.name: max(mechanism.loss(shift) for shift in shifts)
        for edge, shifts in policy.shifts(query).items()
    }
    bounded = f"the bounded data (at most {query.max_groups} groups per unit)"
    guarantee = Guarantee(
        policy.name,
        charge,
        dict.fromkeys(charge, Fraction(0)),
        _about(excess, query.max_groups),
        bounded if query.truncated else "",
    )
    return charge, remaining, guarantee


def _group_count(question: Count, setting: Setting, by: tuple[str, ...]) -> tuple[GroupCount, str]:
    """How many groups of a unit count, and what happens to the rest."""
    counted = [question.counted] if isinstance(question.counted, str) else question.counted
    kinds = None if counted is None else frozenset(counted)
    _check_kinds(kinds, setting.policy)
    if setting.unit is None or not by:
        if question.max_groups not in (None, 1):
            raise ParameterError(
                f"max_groups={question.max_groups} has no meaning here: each unit is in one group.",
                hint="Leave max_groups out, or give the session unit= and the count by=.",
            )
        return GroupCount(max_groups=1, counted=kinds), "single"
    modes = setting.policy.excess_modes
    excess = question.on_excess or modes[0]
    if excess not in modes:
        raise ParameterError(
            f"on_excess={excess!r} cannot be used under the policy '{setting.policy.name}'.",
            hint=f"Use one of {', '.join(map(repr, modes))}.",
        )
    most = _max_groups(question, setting, excess)
    return GroupCount(max_groups=most, counted=kinds, truncated=excess == "truncate"), excess


def _check_kinds(kinds: frozenset[str] | None, policy: Policy) -> None:
    """Refuse to count kinds that the table cannot tell apart."""
    if kinds is None:
        return
    told = {rule.kind for rule in policy.rules} | {policy.default_kind}
    if not policy.rules or not kinds or kinds - told:
        raise ParameterError(
            f"counted={sorted(kinds)}: these kinds cannot be told apart in the table under the "
            f"policy '{policy.name}'.",
            hint=f"Its rows can be {', '.join(sorted(told))}."
            if policy.rules
            else "This policy has no conditions on rows; leave counted out.",
        )


def _max_groups(question: Count, setting: Setting, excess: str) -> int | None:
    """The bound to enforce; None where the policy's own covers everyone."""
    own = setting.policy.max_groups if isinstance(setting.policy, Presence) else None
    if excess == "keep":
        if question.max_groups not in (None, own):
            raise ParameterError(
                f"max_groups={question.max_groups}, but the policy covers {own} groups.",
                hint=f"Use presence(max_groups={question.max_groups}), or leave it out here.",
            )
        return None
    if setting.policy.single_valued:
        if question.max_groups not in (None, 1):
            raise ParameterError(
                f"max_groups={question.max_groups}, but under the policy "
                f"'{setting.policy.name}' a record holds one value, so a unit is in one group.",
                hint="Leave max_groups out; units with several values are refused, or cut to one "
                'with on_excess="truncate".',
            )
        return 1
    if question.max_groups is None and own is None:
        raise ParameterError(
            f"How many groups of one {setting.unit!r} should the noise cover?",
            hint="Pass max_groups=, for example the most groups that most people are in; "
            "on_excess says what happens to the others.",
        )
    return whole(question.max_groups or own, name="max_groups", least=1)


def _condition(given: object) -> Predicate:
    """A condition that looks at one row alone."""
    predicate = Predicate.of(given)
    require_rowwise(predicate)
    return predicate


def _about(excess: str, most: int | None) -> str:
    """Which data the answer, and a certain bound on it, is about."""
    if excess == "truncate":
        return f"About bounded data: whoever is in more than {most} groups is counted in {most}."
    if excess == "error":
        return f"About the data as they are, in which nobody is in more than {most} groups."
    return "About the data as they are."


def _refuse_clashes(by: tuple[str, ...], unit: str | None) -> None:
    """Columns that would collide in the answer, or that would group units by themselves."""
    for name in by:
        if name == unit:
            raise ParameterError(
                f"Cannot group by the unit column {name!r}: each group would be one person.",
                hint="Group by another column.",
            )
        if name in RESULT_COLUMNS or by.count(name) > 1:
            raise ParameterError(
                f"The grouping column {name!r} is repeated, or is named like a result column.",
                hint=f"Rename it; {', '.join(RESULT_COLUMNS)} are taken.",
            )
