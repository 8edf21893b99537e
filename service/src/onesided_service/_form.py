"""The question that a form asks, as the body that a program would send."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

from onesided.errors import OnesidedError, ParameterError
from onesided.schema import Schema
from onesided.session.kit import QUESTIONS, required
from onesided.store import canonical
from onesided_service._accuracy import ASKED
from onesided_service._border import asked_in
from onesided_service._datasets import Dataset

FORM: Final = "form"
SQL: Final = "sql"
ONCE: Final = "once "  # begins the names that pages give
WITHIN: Final = "20"  # what the form begins with
# Each line of the form, with the question that it asks; these come first.
_FIRST: Final = [QUESTIONS["Count"], QUESTIONS["AtMost"]]
LINES: Final = {
    line.kind: (line, kind)
    for kind in dict.fromkeys([*_FIRST, *QUESTIONS.values()])
    for line in vars(kind).get("form", ())
}
UNKNOWNS: Final[tuple[tuple[str, str], ...]] = (
    ("", "counted where groups are certified, else not"),
    ("recorded", "not counted: certain lower bounds are about the truth"),
    ("possible", "counted: certain upper bounds are about the truth"),
)
NEEDS_COLUMN: Final = tuple(
    name for name, (_, kind) in LINES.items() if "column" in {one.name for one in fields(kind)}
)
NEEDS_ROWS: Final = tuple(
    name for name, (line, _) in LINES.items() if line.given.get("of") == "rows"
)
# Of these, how far off they are is known before they are asked.
CLOSE: Final = tuple(name for name, (_, kind) in LINES.items() if kind in ASKED)
NEEDS_NUMBER: Final = tuple(name for name, (line, _) in LINES.items() if line.number)
_MOST: Final = 10_000


def named_once(body: dict[str, Any], once: str) -> dict[str, Any]:
    """The request under a name by which it is the same ask when its page sends it twice.

    What has a name keeps it. Another question of the same page is another ask.

    >>> first, again = (named_once({"sql": "SELECT 1"}, "page") for _ in range(2))
    >>> first == again, first == named_once({"sql": "SELECT 1"}, "another page")
    (True, False)
    """
    given = body if "sql" in body else body["question"]["fields"]
    if "id" in given:
        return body
    digest = hashlib.sha256(canonical([once, body]).encode()).hexdigest()
    named = {**given, "id": f"{ONCE}{digest}", "again": True}
    return named if "sql" in body else {"question": {**body["question"], "fields": named}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was filled in, as it was typed.

    within: how far off the answer may be, 95 of 100 times; then ε is worked out.
    """

    how: str = FORM
    kind: str = "count"
    column: str = ""
    number: str = ""
    max_rows: str = ""
    by: tuple[str, ...] = ()
    where: str = ""
    unknown: str = ""
    sql: str = ""
    within: str = ""
    epsilon: str = ""
    max_groups: str = ""
    name: str = ""

    @classmethod
    def of(cls, form: Mapping[str, str], by: Sequence[str] = ()) -> Asked:
        """The filled-in form; what is not in it keeps its default.

        >>> Asked.of({"kind": "top_k", "number": "3"}, ("place",)).number
        '3'
        """
        texts = {one.name for one in fields(cls)} - {"by"}
        own = {name: form[name].strip()[:_MOST] for name in texts & form.keys()}
        return cls(**own, by=tuple(part[:_MOST] for part in by))

    @property
    def written(self) -> str:
        """The text in which a word that is wrong is shown."""
        return self.sql if self.how == SQL else self.where

    @property
    def body(self) -> dict[str, Any]:
        """The same as a request of a program. Errors: ParameterError for what is not filled in."""
        if not self.epsilon:
            raise ParameterError(
                "Neither accuracy nor ε is filled in.", hint="Say how far off the answer may be."
            )
        named: dict[str, Any] = {"id": self.name, "again": True} if self.name else {}
        if self.how == SQL:
            return {"sql": self.sql, "epsilon": self.epsilon, **named, **self._rows()}
        if self.kind not in LINES:
            raise ParameterError("There is no such question.", hint="Choose one of the list.")
        line, kind = LINES[self.kind]
        more: dict[str, Any] = {"epsilon": self.epsilon, **named, **line.given, **self._which(kind)}
        if self.kind in NEEDS_COLUMN:
            if not self.column:
                raise ParameterError("No column is chosen.", hint="Choose the column it is about.")
            more["column"] = self.column
        if line.number:
            needed, wrong = line.number in required(kind), "The number is not filled in."
            more |= self._whole(line.number, self.number, needed=needed, wrong=wrong)
        if self.kind in NEEDS_ROWS:
            more |= self._rows()
        question = {"version": 2, "question": kind.__name__, "fields": more}
        return {"question": question}

    def _which(self, kind: type[Any]) -> dict[str, Any]:
        """Of which groups and rows it is."""
        more: dict[str, Any] = {}
        if self.by:
            more["by"] = self.by[0] if len(self.by) == 1 else list(self.by)
            if "max_groups" in {one.name for one in fields(kind)}:
                more |= self._whole("max_groups", self.max_groups)
        if self.where:
            more["where"] = self.where
            if self.unknown:
                more["unknown"] = self.unknown
        return more

    def _rows(self) -> dict[str, int]:
        return self._whole("max_rows", self.max_rows)

    @staticmethod
    def _whole(name: str, given: str, *, needed: bool = False, wrong: str = "") -> dict[str, int]:
        if not given and not needed:
            return {}
        if not given.isdecimal():
            reason = wrong or f"{name} is no number."
            raise ParameterError(reason, hint="Fill in a whole number.")
        return {name: int(given[:18])}


# Questions to begin with: of a dataset's own columns, and such as it answers.


_EXAMPLES: Final = 5
_PLAIN: Final = "1/10"
_KEPT: Final[WeakKeyDictionary[Dataset, list[dict[str, str]]]] = WeakKeyDictionary()


def examples_of(found: Dataset) -> list[dict[str, str]]:
    """What each is called, and the query that fills in the form; from public facts alone."""
    if found not in _KEPT:
        told = [one for asked in _candidates(found.schema) if (one := _told(found, asked))]
        _KEPT[found] = told[:_EXAMPLES]
    return _KEPT[found]


def _candidates(schema: Schema) -> Iterator[Asked]:
    groups = [name for name, one in schema.columns.items() if one.keys is not None]
    numbers, where = _numbers(schema), condition_of(schema)
    group = groups[-1:]
    for by in groups[:2]:
        yield Asked(kind="count", by=(by,))
    if where:
        yield Asked(kind="count", by=tuple(group), where=where)
    for by in group:
        yield Asked(kind="at_most", by=(by,), number="20")
        yield Asked(kind="top_k", by=(by,), number="3")
    for name in numbers[:1]:
        yield Asked(kind="mean", column=name)
        yield Asked(kind="histogram", column=name, number="10")


def _numbers(schema: Schema) -> list[str]:
    return [
        name
        for name, one in schema.columns.items()
        if one.bounds is not None and one.type in ("integer", "number") and name != schema.unit
    ]


def condition_of(schema: Schema) -> str:
    """A condition on a declared column; "" where none has bounds.

    >>> from onesided.schema import column
    >>> condition_of(Schema(columns={"age": column("integer", bounds=(0, 100))}))
    'age >= 50'
    """
    for name in _numbers(schema):
        if name.isidentifier() and (bounds := schema.columns[name].bounds) is not None:
            low, high = map(float, bounds)
            return f"{name} >= {int((low + high) // 2)}"  # the upper half
    return ""


def _told(found: Dataset, asked: Asked) -> dict[str, str] | None:
    """The example if the dataset answers it, with few groups of each unit where it must say so."""
    for more in ("", "1"):
        one = replace(asked, epsilon=_PLAIN, max_groups=more if asked.by else "")
        try:
            question, _ = asked_in(one.body, found.session(), found.config)
            title = found.session().statement(question).title()
            found.session().plan(question)
        except (OnesidedError, KeyError):
            continue
        return {"title": title, "query": urlencode(_filled(one), doseq=True)}
    return None


def _filled(asked: Asked) -> dict[str, Any]:
    """What the address of the form says."""
    own = {"kind": asked.kind, "by": list(asked.by)}
    names = ("column", "number", "where", "max_groups")
    more = {name: getattr(asked, name) for name in names if getattr(asked, name)}
    epsilon = {} if asked.kind in CLOSE else {"epsilon": asked.epsilon}
    return {**own, **more, **epsilon}
