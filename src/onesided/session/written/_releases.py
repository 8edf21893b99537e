"""Releases as JSON, and back: the public columns, what they promise, and where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from onesided._numbers import INFINITE, exact, text
from onesided.errors import ParameterError
from onesided.mechanism import Interval
from onesided.policy import Guarantee
from onesided.session._release import FrameMaker, Release
from onesided.session._statement import Statement
from onesided.session.several._answers import Answers
from onesided.session.written._document import document, opened
from onesided.session.written._values import value_of, written

_FACTS: Final = ("entry", "told_again", "drawn", "cut")
_PROMISE: Final = {"policy", "epsilon", "delta", "about", "scope"}
_PARTS: Final = {"release", "guarantee", *_FACTS}
_TOLD: Final = ({"columns"}, {"columns", "beside"}, {"answers"})
_SAID: Final = ({"statement", "found"}, {"title"})  # of version 2, and of version 1
_FORMS: Final = tuple(_PARTS | said | told for said in _SAID for told in _TOLD)
SEVERAL: Final = "Answers"
_NUMBERS: Final = ("estimate", "lower", "upper", "lower_certain", "upper_certain", "certified")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WrittenRelease(Release):
    """A release as it was written: its columns, title and guarantee, and no mechanism.

    kind: the class that it was. told: the columns. more: those that came with the keys. found: its
    summary. sure: how sure bounds are that are not certain.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"place": ["a", "b", "b"]})
    >>> session = od.Session(people, policy=od.policy.addition_only(), budget=99)
    >>> release = session.count(by="place", keys=["a", "b"], epsilon=90)
    >>> read = release_from_json(release_to_json(release))
    >>> read.at_most(1)
    ['a']
    """

    kind: str
    told: dict[str, list[Any]]
    more: tuple[str, ...] = ()
    found: str = ""
    sure: str = ""

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that are no keys and came with them."""
        return self.more

    @property
    def bound_words(self) -> str:
        """How sure a bound is that is not certain."""
        return self.sure

    @property
    def summary(self) -> str:
        """What was found, in a few words."""
        return self.found

    def columns(self) -> dict[str, list[Any]]:
        """The columns that were written."""
        return {name: list(values) for name, values in self.told.items()}

    @property
    def interval(self) -> Interval:
        """The bounds. Errors: ParameterError where there are none."""
        if "upper" not in self.told and "lower" not in self.told:
            return Release.interval.fget(self)  # type: ignore[attr-defined,no-any-return] # refuses
        size = len(next(iter(self.told.values())))
        low = np.array(self.told.get("lower", [0] * size))
        high = np.array(self.told.get("upper", [np.inf] * size))
        sure = {side: self._sure(side) for side in ("lower", "upper")}
        return Interval(low, high, sure["lower"], sure["upper"])

    def _sure(self, side: str) -> bool:
        return side in self.told and all(self.told.get(f"{side}_certain", [False]))

    @property
    def labels(self) -> list[Any]:
        """The groups."""
        known = (*_NUMBERS, *self.more)
        keys = [values for name, values in self.told.items() if name not in known]
        if not keys:
            return [()] * len(next(iter(self.told.values()), []))
        return list(keys[0]) if len(keys) == 1 else list(zip(*keys, strict=True))


def release_to_json(release: Release) -> str:
    """What a release tells, as JSON: reading it back tells the same.

    Errors: ParameterError for what is no release, and values without a form there.

    >>> import polars as pl, onesided as od
    >>> people, policy = pl.DataFrame({"person": [1, 2]}), od.policy.addition_only()
    >>> session = od.Session(people, unit="person", policy=policy, budget=90)
    >>> json_text = release_to_json(session.count(epsilon=80))
    >>> "record -> absent" in json_text
    True
    """
    if not isinstance(release, Release):
        raise ParameterError(
            f"A value of type {type(release).__name__} is not a release.",
            hint="Give what a session answered.",
        )
    return document(_written(release))


def _written(release: Release) -> dict[str, Any]:
    several = isinstance(release, Answers)
    kind = release.kind if isinstance(release, WrittenRelease) else type(release).__name__
    promise = release.guarantee
    told: dict[str, Any] = (
        {"answers": [_written(one) for one in release.parts]}
        if isinstance(release, Answers)
        else {"columns": [[name, written(list(v))] for name, v in release.columns().items()]}
    )
    return {
        "release": SEVERAL if several else kind,
        "statement": release.statement.to_json(),
        "found": release.summary,
        **told,
        **({"beside": list(release.beside)} if release.beside else {}),
        "guarantee": {
            "policy": promise.policy,
            "epsilon": {edge: text(loss) for edge, loss in promise.epsilon.items()},
            "delta": {edge: text(loss) for edge, loss in promise.delta.items()},
            "about": promise.about,
            "scope": promise.scope,
        },
        **{name: getattr(release, name) for name in _FACTS},
    }


def release_from_json(given: str, *, frame: FrameMaker | None = None) -> WrittenRelease | Answers:
    """The release that was written; several answers as several.

    frame: makes ``release.frame`` of columns, such as ``polars.DataFrame``; None leaves them.
    Errors: ParameterError for anything else.

    >>> import polars as pl, onesided as od
    >>> people, policy = pl.DataFrame({"person": [1, 2]}), od.policy.addition_only()
    >>> session = od.Session(people, unit="person", policy=policy, budget=90)
    >>> release = session.count(epsilon=80)
    >>> release_from_json(release_to_json(release)).value
    2.0
    """
    found = opened(given, *_FORMS)
    del found["version"]
    return _read(found, frame)


def _read(found: Any, frame: FrameMaker | None) -> WrittenRelease | Answers:
    if not isinstance(found, dict) or set(found) not in _FORMS:
        raise ParameterError(f"{found!r} is not a release.", hint="See docs/json.md.")
    promise = found["guarantee"]
    if not isinstance(promise, dict) or set(promise) != _PROMISE:
        raise ParameterError(
            f"Its guarantee is {promise!r}.", hint=f"It has {', '.join(sorted(_PROMISE))}."
        )
    if "statement" in found:
        said = Statement.from_json(found["statement"])
    else:
        said = Statement(measure=found["title"])
    asked = said.asked
    try:
        shared: dict[str, Any] = {
            "guarantee": Guarantee(
                promise["policy"],
                {edge: _loss(loss) for edge, loss in promise["epsilon"].items()},
                {edge: Fraction(loss) for edge, loss in promise["delta"].items()},
                promise["about"],
                promise["scope"],
                asked=asked.title(),
            ),
            "asked": asked,
            "_make_frame": frame,
            **{name: found[name] for name in _FACTS},
        }
        if "answers" in found:
            return Answers(parts=tuple(_one(part, frame) for part in found["answers"]), **shared)
        return WrittenRelease(
            kind=found["release"],
            found=str(found.get("found", "")),
            sure=said.confidence,
            told={name: value_of(values) for name, values in found["columns"]},
            more=_names(found.get("beside", [])),
            **shared,
        )
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise ParameterError(
            f"This is not a release: {error}.", hint="See docs/json.md."
        ) from error


def _names(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise ParameterError(f"beside is {given!r:.60}.", hint="It is a list of columns' names.")
    return tuple(given)


def _one(part: Any, frame: FrameMaker | None) -> WrittenRelease:
    """One of several answers, which is not several itself."""
    read = _read(part, frame)
    if isinstance(read, WrittenRelease):
        return read
    raise ParameterError("Several answers stand within several.", hint="See docs/json.md.")


def _loss(given: str) -> Any:
    return INFINITE if given == text(INFINITE) else exact(given, name="epsilon")
