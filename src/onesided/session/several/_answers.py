"""Several answers that were charged as one, and their plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from onesided.session._plan import Plan, PlanOption
from onesided.session._release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOfSeveral(Plan):
    """What several questions would cost together, and how well each would be answered.

    parts: the plan of each, at its share of ε. mechanism: those of all parts.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3]})
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(people, unit="person", policy=policy, budget=9)
    >>> questions = [od.Count(epsilon=1), od.Count(epsilon=2)]
    >>> plan = session.plan(od.session.Several(questions))
    >>> len(plan.parts), plan.guarantee.headline
    (2, Fraction(3, 1))
    """

    parts: tuple[Plan, ...] = field(default=(), repr=False)

    @property
    def options(self) -> tuple[PlanOption, ...]:
        """What would answer each question, in the order they were asked; see ``parts`` for more."""
        chosen = (part.options[0] for part in self.parts)
        return tuple(
            replace(one, name=f"{number}. {one.name}") for number, one in enumerate(chosen, 1)
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answers(Release):
    """Several answers, all under one charge; a sequence of releases. Everything here is public.

    guarantee: what they promise together; each release says what it promises alone.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> count = od.Count(by="place", keys=["a", "b"], epsilon=50)
    >>> largest = od.session.TopK(1, by="place", keys=["a", "b"], epsilon=50)
    >>> answers = session.ask_all([count, largest])
    >>> counts, top = answers
    >>> counts.estimate.tolist(), top.labels, counts.entry == top.entry
    ([1, 3], ['b'], True)
    """

    parts: tuple[Release, ...]

    @property
    def releases(self) -> tuple[Any, ...]:
        """The answers, in the order of the questions."""
        told = {"told_again": self.told_again, "drawn": self.drawn}
        return tuple(replace(part, **told) for part in self.parts)  # type: ignore[arg-type] # both

    def __iter__(self) -> Iterator[Any]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, place: int) -> Any:
        return self.releases[place]

    def columns(self) -> dict[str, list[Any]]:
        """What was answered: each release has columns of its own."""
        return {
            "answer": list(range(1, len(self) + 1)),
            "title": [part.title for part in self.parts],
        }

    def write_into(self, place: Path, formats: Sequence[str], *, outline: object = None) -> None:
        """Each answer in a folder ``1``, ``2``, ... of its own, beside what they are together."""
        Release.write_into(self, place, formats, outline=outline)
        for number, one in enumerate(self.releases, 1):
            (place / str(number)).mkdir()
            one.write_into(place / str(number), formats, outline=outline)

    def __str__(self) -> str:
        told = "\n\n".join(str(replace(part, told_again=False)) for part in self.parts)
        return "\n".join([*self._head(), "", told, "", f"Together: {self.guarantee.promise}"])
