"""Units per public group: the part that counts, selections and histograms have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import Number, whole
from onesided.engine import PublicKeys
from onesided.engine.kit import Lazy, check_types
from onesided.errors import ContributionError, KeysError, ParameterError
from onesided.noise import IntArray, Noise
from onesided.policy import Cells, Edge, GroupCount, Policy, Predicate, Shift
from onesided.session._context import NOTHING, LeftOut, QueryContext, Taken, counted_where, left_out
from onesided.session._fields import Condition, Counted, IfUnknown, Keys
from onesided.session._plan import Plan, priced
from onesided.session._question import Answer, Check, PreparedQuery
from onesided.session._release import Release
from onesided.session._statement import Nouns

Made = TypeVar("Made")
Floats = NDArray[np.float64]
OnExcess = Literal["keep", "truncate", "error"]
RESULT_COLUMNS: Final = (
    "estimate", "lower", "upper", "lower_certain", "upper_certain", "certified", "coarse", "likely",
    "own_most", "own_least",
)  # fmt: skip
_GROUP: Final = "onesided_group"
_ROWS: Final = (
    "Each row is protected on its own, at a loss for every row of a person: to protect persons, "
    "give the session unit=."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """A question about units (rows, if the session's unit is the row) in public groups.

    epsilon: loss per unit of edge weight, in nats.
    by: grouping column or columns; none takes everything as one group.
    keys: the public groups: a list, series or table; of several columns also
        :func:`onesided.cross`. None: those of the session's schema. Required with ``by``.
    max_groups: the most groups of one unit that the noise covers; the presence policy brings its
        own, the row needs none.
    on_excess: what happens to units in more groups. "keep" counts them whole (policies that
        protect any ``max_groups`` of someone's groups), "truncate" cuts them down (the answer is
        then about bounded data), "error" refuses and so asserts the bound.
    counted: the kinds of units to count, such as ``"open"``; all by default.
    where: SQL text that picks rows; a unit's kind is decided before.
    unknown: what becomes of rows for which ``where`` is unknown, as a value is missing. "recorded"
        leaves them out, so that certain lower bounds are about the truth; "possible" counts them,
        so that certain upper bounds are. The release says which (docs/missing.md).
    id: names the release in the ledger. again: True tells an answer that stands there under the
        id again, at no charge and without a look at the data; otherwise such an id is refused.
    title: what people are to call the answer, beside the statement of what was asked and never in
        its place; asked again under another title it is the same question.

    >>> import onesided as od
    >>> od.Count(by="place", keys=["a", "b"], epsilon="1/2", max_groups=2).max_groups
    2
    """

    epsilon: Number
    by: str | Sequence[str] = ()
    keys: Keys = None
    max_groups: int | None = None
    on_excess: OnExcess | None = None
    counted: Counted = None
    where: Condition = None
    unknown: IfUnknown = "recorded"
    id: str | None = None
    again: bool = False
    title: str = ""

    # Whether more rows can only raise the answer, whatever they hold.
    only_rises: ClassVar[bool] = True

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        return f"Number of {nouns.units}"

    def truth(self, public: QueryContext) -> Floats:
        """The numbers that are asked for, of a public table; for plans."""
        own: Any = self
        return np.asarray(own.prepare(public).read(), dtype=np.float64)

    def shared(self, **more: Any) -> dict[str, Any]:
        """What a question about groups says of them, for another one that has no name."""
        kept = {one.name: getattr(self, one.name) for one in fields(Grouped)}
        return {**kept, "id": None, "again": False, "title": "", **more}

    @property
    def numbers(self) -> Mapping[str, str]:
        """The columns of numbers, with what becomes of rows that are missing one."""
        return {}

    def groups(self, context: QueryContext) -> Groups:
        """The public half of the question, checked."""
        by = names_of(self.by, name="by")
        if self.keys is not None and not by:
            raise KeysError("keys= is given without by=.", hint="Name the keys' column: by=...")
        context.table.require(*by)
        refuse_clashes(by, context.unit)
        context.table.refuse_collated(*by)
        keys = context.keys(self.keys, by)
        check_types(keys, context.schema)
        query, excess = group_count(self, context, by, self.on_excess)
        return Groups(
            unit=context.unit_name,
            by=by,
            keys=keys,
            query=query,
            excess=excess,
            where=counted_where(self.where, self.unknown),
            noun=context.noun_of(by),
            left_out=left_out(
                context,
                by,
                self.where,
                self.unknown,
                numbers=self.numbers,
                counted=query.counted,
                rises=self.only_rises,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Which units are counted in which public groups, and how often one of them may be.

    words: which numbers of theirs are added up, where these may have been cut; "" for counts. noun:
    what sentences call a group.

    >>> asked = {"unit": "person", "by": ("place",), "where": None, "excess": "truncate"}
    >>> keys = PublicKeys.of(("place",), [("gym",)])
    >>> Groups(keys=keys, query=GroupCount(max_groups=2), **asked).told.size
    1
    """

    unit: str
    by: tuple[str, ...]
    keys: PublicKeys
    query: GroupCount
    excess: str
    where: Predicate | None
    others: bool = False
    left_out: LeftOut = NOTHING
    words: str = ""
    noun: str = "group"

    @property
    def told(self) -> PublicKeys:
        """The groups that are answered; a last one, of nulls, for keys that are not listed."""
        return self.keys.with_others() if self.others else self.keys

    def with_others(self, others: object, policy: Policy) -> Groups:
        """With one more group for all keys that are not listed, if that is asked for.

        A row's key is made a number before anything else: its place among the keys, or one number
        for all others; a row with a null is in no group. So a unit's groups are the image of those
        it is in. Who drops d of these drops at most d of the image, and of the others some rows
        at most: what a policy says of any grouping holds of this one.
        Errors: ParameterError where the policy names values, which the last group would mix.
        """
        if not isinstance(others, bool) or (others and not self.by):
            raise ParameterError(
                f"others={others!r} has no meaning here.",
                hint="others=True adds a group to those of by= and keys=.",
                value=others,
            )
        if others and (policy.single_valued or policy.between_values):
            raise ParameterError(
                f"others=True cannot be used under the policy '{policy.name}', which names values: "
                "of a group of many values it does not say what they must be indistinguishable "
                "from.",
                hint="List every key.",
            )
        return replace(self, others=others)

    def by_cells(self, context: QueryContext) -> Groups:
        """The same, for what is priced by the cells that are asked for.

        For counts: a sum may move although nobody comes or goes. Where a policy names values, it is
        told those of one column of the caller's own, if every row with one of them counts; or that
        a condition on one column of texts, read as they stand, picks them.
        """
        named: dict[str, Any] = {}
        picks = () if self.where is None else tuple(self.where.readable().columns)
        about = self.by if self.where is None else picks if not self.by else ()
        if len(about) == 1 and context.names_values(*about):
            keys = frozenset(self.keys.labels()) if self.by else frozenset()
            if self.by or context.as_it_stands(*about):
                named = {"column": about[0], "keys": keys, "alone": context.alone(*about)}
        cells = Cells(
            size=self.keys.size + self.others,
            everything=not self.by,
            where=None if self.where is None else self.where.readable(),
            rows=context.unit is None,
            **named,
        )
        return replace(self, query=replace(self.query, cells=cells))

    def columns(self, context: QueryContext, *more: str) -> tuple[str, ...]:
        """The columns that are looked at, with ``more`` of them."""
        return context.using(*self.by, *more, where=self.where, counted=self.query.counted)

    def inside(self, taken: Taken) -> tuple[Taken, Groups]:
        """The same in the names of a snapshot; with a group for keys not listed, by number."""
        by = taken.at(self.by)
        keys = replace(self.keys, names=by)
        if not self.others:
            return taken, replace(self, by=by, keys=keys)
        taken = replace(taken, table=taken.table.numbered(keys, _GROUP))
        size = keys.size + 1
        numbers = PublicKeys((_GROUP,), (np.arange(size),), size)
        return taken, replace(self, by=(_GROUP,), keys=numbers, others=False)

    @property
    def detail(self) -> dict[str, object]:
        """What identifies the groups in the ledger, beside the keys."""
        return {
            **({"others": True} if self.others else {}),
            "unit": self.unit,
            "by": list(self.by),
            "where": self.where.text if self.where else "",
            "counted": sorted(self.query.counted or ()),
            "max_groups": str(self.query.max_groups or ""),
            "excess": self.excess,
            "about": self.sentence,
        }

    @property
    def sentence(self) -> str:
        """Which data the answer, and a certain bound on it, is about."""
        last = " The group without a key holds all keys that are not listed." if self.others else ""
        said = filter(None, (self._about, self.words, self.left_out.dropped))
        return f"{' '.join(said)}{last}"

    @property
    def _about(self) -> str:
        most, left = self.query.max_groups, self.left_out
        every = left.numbers_about if self.words else left.about
        if self.excess == "truncate":
            groups = many(most or 1, self.noun)
            return f"About bounded data: whoever is in more than {groups} is counted in {most}."
        if self.excess == "error":
            picked = f" in rows where {self.where.text}" if self.where else ""
            kinds = " or ".join(sorted(self.query.counted or ()))
            return (
                f"{every} Asserted, and found true: no {self.unit}"
                f"{f' of kind {kinds}' if kinds else ''} is{picked} in more than {most} of the "
                f"{many(self.told.size, self.noun)} listed; data of which that is not true are "
                "promised nothing."
            )
        return every

    def for_policy(self, mechanism: type[Made], context: QueryContext, **arguments: Any) -> Made:
        """The mechanism with the least noise for these counts."""
        made: Made = mechanism.for_policy(  # type: ignore[attr-defined] # all that count have it
            context.policy, query=self.query, **arguments
        )
        return made

    def plan(
        self,
        context: QueryContext,
        mechanism: Any,
        shifts: Mapping[Edge, Iterable[Shift]] | None = None,
        **facts: Any,
    ) -> Plan:
        """What ``mechanism`` costs on each edge: on these counts, or on what moves so far."""
        certain, told = facts.get("certain", ()), self.sentence
        scope = self.left_out.scope(certain)
        if self.words:
            scope = self.left_out.numbers(certain, self.words)
        elif self._bounds_cut(certain):
            most = many(self.query.max_groups or 1, self.noun)
            thinned = f", of {scope}" if self.left_out.thinned and scope else ""
            scope = f"the bounded data (at most {most} per unit){thinned}"
        if not self.words and context.unit is None and (context.policy.covers or 1) > 1:
            told = f"{told} {_ROWS}"
        moves = context.policy.shifts(self.query) if shifts is None else shifts
        return priced(context, mechanism, moves, about=told, scope=scope, **facts)

    def prepared(
        self,
        context: QueryContext,
        plan: Plan,
        *,
        draw: Callable[[Any, Noise | None], Answer],
        tell: Callable[[Answer], Mapping[str, Any]],
        **own: Any,
    ) -> PreparedQuery[Any, Release]:
        """A question about these groups: by default about their counts.

        tell: of an answer, what its release says beside what all of them say. own: other steps.
        """

        def result(answer: Answer, entry: int | None) -> Release:
            usual = {"kind": "Estimates", **self.published(context, plan, entry)}
            return Release(**{**usual, **tell(answer)})

        steps = PreparedQuery(
            detail=self.detail,
            plan=plan,
            context=context,
            columns=self.columns(context),
            look=self.counts,
            draw=draw,
            result=result,
            asserts=self.asserts,
        )
        return replace(steps, **own)

    def cut(self, certain: Sequence[str]) -> str:
        """What is said first: which rows may be missing, and whether units may be cut down.

        certain: the sides that are marked certain.
        """
        most, said = self.query.max_groups, [self.words]
        if self.excess == "truncate":
            groups = many(most or 1, self.noun)
            about = "every number and bound here is about data that may have been cut, not about "
            if not self._bounds_cut(certain):
                about = "a certain lower bound holds of the data as they are, but other numbers "
                about += "here are about data that may have been cut, not about "
            said.append(
                f"{self.left_out.counted} in more than {groups} were counted in "
                f"{most} of them: {about}the data as they are."
            )
        elif self.words:
            said.append(
                "Every number and bound here is about data that may have been cut, not about the "
                "data as they are."
            )
        return " ".join(one for one in (*said, self.left_out.sentence(certain)) if one)

    def _bounds_cut(self, certain: Sequence[str]) -> bool:
        """Whether certain bounds are about cut data alone: cutting units only lowers counts."""
        kept = tuple(certain) == ("lower",) and self.left_out.rises and not self.words
        return self.query.truncated and not kept

    def published(self, context: QueryContext, plan: Plan, entry: int | None) -> dict[str, Any]:
        """What every release about these groups says."""
        return {
            "guarantee": plan.guarantee,
            "entry": entry,
            "cut": self.cut(plan.certain),
            "_make_frame": lambda columns: context.table.result(columns, like=self.by),
        }

    def rows(self, taken: Taken) -> Lazy:
        """The rows that are counted, of groups that are :meth:`inside`. Secret."""
        return taken.rows(self.by, where=self.where, counted=self.query.counted)

    def counts(self, taken: Taken) -> IntArray:
        """The true counts, in the order of the keys. Secret."""
        taken, groups = self.inside(taken)
        rows = groups.rows(taken)
        if not self.by:
            return np.array([taken.table.total(rows, unit=taken.unit)], dtype=np.int64)
        cut = self.query.max_groups if self.excess == "truncate" else None
        return taken.table.counts(rows, groups.keys, unit=taken.unit, most=cut)

    @property
    def asserts(self) -> Check | None:
        """Holds the curator to ``on_excess="error"``; None where nothing is asserted."""
        return self.refuse_excess if self.excess == "error" else None

    def refuse_excess(self, taken: Taken) -> None:
        """Errors: ContributionError for units in more than ``max_groups`` of the groups."""
        taken, groups = self.inside(taken)
        unit, most = taken.unit, self.query.max_groups
        if most is None or unit is None:
            return
        rows = groups.rows(taken)
        over, largest = taken.table.units_over(rows, groups.keys, unit=unit, most=most)
        if over:
            raise ContributionError(
                f"{many(over, 'value')} of {taken.table.called(unit)!r} "
                f"{'is' if over == 1 else 'are'} in more than {many(most, self.noun)} "
                f"(at most {largest}).",
                hint="Choose another on_excess, or a larger max_groups from public knowledge, such "
                "as the rules of a register; these numbers are of the rows and not for "
                "publication. Nothing was drawn and nothing was recorded.",
                units=over,
                largest=largest,
            )


def group_count(
    question: Any, context: QueryContext, by: tuple[str, ...], given: OnExcess | None = None
) -> tuple[GroupCount, str]:
    """How many groups of a unit count, and what happens to the rest.

    given: what is to, None for the policy's default. Only what listed groups assert has keys.
    """
    kinds = kinds_of(question.counted, context.policy)
    where = counted_where(question.where, question.unknown)
    used = context.made_of({*by, *(() if where is None else where.readable().columns)})
    if context.row_each or not by:
        if question.max_groups not in (None, 1):
            raise ParameterError(
                f"max_groups={question.max_groups} has no meaning here: each unit is in one group.",
                hint="Leave max_groups out, or give the session unit= and the count by=.",
            )
        return GroupCount(max_groups=1, counted=kinds, columns=used), "single"
    modes = context.policy.excess_modes
    if context.policy.bounds_groups(GroupCount(counted=kinds, columns=used)):
        modes = tuple(mode for mode in modes if mode != "keep")
    keyed = hasattr(question, "keys")
    excess: str = given or next(mode for mode in modes if keyed or mode != "error")
    if excess not in modes:
        raise ParameterError(
            f"on_excess={excess!r} cannot be used under the policy '{context.policy.name}'.",
            hint=f"Use one of {', '.join(map(repr, modes))}.",
        )
    most = _max_groups(question, context, excess)
    cut = excess == "truncate"
    return GroupCount(max_groups=most, counted=kinds, truncated=cut, columns=used), excess


def names_of(given: str | Sequence[str] | None, *, name: str) -> tuple[str, ...]:
    """One name, several or none. Errors: ParameterError for anything else."""
    names = (given,) if isinstance(given, str) else () if given is None else given
    if not isinstance(names, Iterable) or not all(isinstance(one, str) for one in names):
        raise ParameterError(
            f"{name} must be a name or a list of names, got {given!r}.",
            hint=f'Write {name}="one" or {name}=["one", "another"].',
            value=given,
        )
    return tuple(names)


def kinds_of(counted: str | Sequence[str] | None, policy: Policy) -> frozenset[str] | None:
    """The kinds to count. Errors: ParameterError for kinds the table cannot tell apart."""
    if counted is None:
        return None
    kinds = frozenset(names_of(counted, name="counted"))
    told = {rule.kind for rule in policy.rules} | {policy.default_kind}
    if policy.view is not None:
        told = set(policy.kinds)
    if not (policy.rules or policy.view) or not kinds or kinds - told:
        raise ParameterError(
            f"counted={sorted(kinds)}: these kinds cannot be told apart in the table under the "
            f"policy '{policy.name}'.",
            hint=f"Its rows can be {', '.join(sorted(told))}."
            if policy.rules or policy.view
            else "This policy has no conditions on rows; leave counted out.",
        )
    return kinds


def _max_groups(question: Any, context: QueryContext, excess: str) -> int | None:
    """The bound to enforce; None where the policy's own covers everyone."""
    own = context.policy.covers
    if excess == "keep":
        if question.max_groups not in (None, own):
            raise ParameterError(
                f"max_groups={question.max_groups}, but the policy covers "
                f"{many(own or 1, 'group')}.",
                hint=f"Use presence(max_groups={question.max_groups}), or leave it out here.",
            )
        return None
    if context.policy.single_valued:
        if question.max_groups not in (None, 1):
            raise ParameterError(
                f"max_groups={question.max_groups}, but under the policy "
                f"'{context.policy.name}' a record holds one value, so a unit is in one group.",
                hint="Leave max_groups out; units with several values are refused, or cut to one "
                'with on_excess="truncate".',
            )
        return 1
    if question.max_groups is None and own is None:
        raise ParameterError(
            f"How many groups of one {context.unit!r} should the noise cover?",
            hint="Pass max_groups=, from public knowledge such as the rules of a register; "
            "on_excess says what happens to the others.",
        )
    asked = own if question.max_groups is None else question.max_groups
    return whole(asked, name="max_groups", least=1)


def refuse_clashes(by: tuple[str, ...], unit: str | None) -> None:
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
