"""Questions and releases as JSON, and back; what has no exact form is refused."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any, Final

from onesided._english import one_line
from onesided._numbers import INFINITE, non_negative, text, whole
from onesided.errors import ParameterError, called
from onesided.fields import Field, Fields, Reader, is_flag, listing, of, read, table
from onesided.policy import Guarantee, Predicate
from onesided.session._asks import QUESTIONS
from onesided.session._fields import FORMS, Asked, asked_fields, settled, value_of, written
from onesided.session._question import require_question
from onesided.session._release import FrameMaker, Release
from onesided.session._statement import Statement
from onesided.session.several._several import Answers
from onesided.show import RoleTable
from onesided.store import plain_text, read_json

# The outermost object: its version, and nothing that is not known.

VERSION: Final = 2
_READ: Final = (1, 2)
_LONGEST: Final = 2**26


def document(parts: dict[str, Any]) -> str:
    """The parts as text, under today's version."""
    told = {"version": VERSION, **parts}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def opened(text: object) -> tuple[dict[str, Any], int]:
    """The object in a text, and its version. Errors: ParameterError."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ParameterError("This is not text of at most 64 MB.", hint="See docs/json.md.")
    try:
        found = read_json(text, once=True)
    except (ValueError, RecursionError) as error:
        raise ParameterError(
            f"This is not valid JSON: {error}.", hint="See docs/json.md."
        ) from error
    if not isinstance(found, dict):
        raise ParameterError(f"This is no object: {found!r:.60}.", hint="See docs/json.md.")
    version = found.pop("version", None)
    if type(version) is not int or version not in _READ:
        raise ParameterError(
            f"This is of version {version!r}; versions 1 and {VERSION} are read.",
            hint="A newer release of onesided may read it.",
            version=version,
        )
    return found, version


# Questions as JSON, and back.


def question_to_json(question: Any) -> str:
    """A question as JSON, exactly: reading it back gives an equal one.

    Fields at their default are left out. Errors: ParameterError for what has no form there, such
    as a mechanism or a strategy of one's own.

    >>> import onesided as od
    >>> question_to_json(od.Count(by="place", keys=["a"], epsilon=1))
    '{"version":2,"question":"Count","fields":{"epsilon":1,"by":"place","keys":["a"]}}'
    """
    require_question(question)
    return document(_told(settled(question)))


def question_from_json(text: str) -> Any:
    """The question that was written; of version 1, what it meant in 0.2.

    Errors: ParameterError for another version, for unknown questions or fields, and for what is
    no JSON of this form.

    >>> import onesided as od
    >>> question = od.Count(by="place", keys=["a", "b"], epsilon="1/2")
    >>> question_from_json(question_to_json(question)) == question
    True
    """
    try:
        return _read(*opened(text))
    except RecursionError:
        raise ParameterError("This nests too deep to be read.", hint="Write it flatter.") from None


def questions_schema() -> dict[str, Any]:
    """The form of a question as a JSON Schema.

    >>> "anyOf" in questions_schema() or "oneOf" in questions_schema()
    True
    """
    parts = [_form(name, kind) for name, kind in sorted(QUESTIONS.items())]
    whole = [_form(name, kind, version={"const": VERSION}) for name, kind in QUESTIONS.items()]
    form = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": form, "$defs": {**FORMS, "part": {"oneOf": parts}}, "oneOf": whole}


def _form(name: str, kind: type, **first: Any) -> dict[str, Any]:
    """A question's form. first: what stands before its class."""
    inner = {
        "type": "object",
        "properties": {one: field.form for one, field in _given(kind).items()},
        "required": sorted(required(kind)),
        "additionalProperties": False,
    }
    parts = {**first, "question": {"const": name}, "fields": inner}
    return {
        "type": "object",
        "properties": parts,
        "required": list(parts),
        "additionalProperties": False,
    }


def _given(kind: Any) -> dict[str, Asked]:
    """The fields that a question is made with."""
    return {one.name: asked_fields(kind)[one.name] for one in fields(kind) if one.init}


def _told(question: Any) -> dict[str, Any]:
    name = type(question).__name__
    if QUESTIONS.get(name) is not type(question):
        raise ParameterError(
            f"{name} has no form in JSON.", hint=f"These have: {', '.join(QUESTIONS)}."
        )
    given = {one.name: one.default for one in fields(question) if one.init}
    changed = {one: getattr(question, one) for one in given}
    told = {
        one: [_told(settled(part)) for part in value]
        if one == "questions"
        else written(value.text if isinstance(value, Predicate) else value)
        for one, value in changed.items()
        if value is not given[one]
    }
    for one, part in told.items():
        if one != "questions":
            _given(question.__class__)[one].fitting(part, name=one)
    return {"question": name, "fields": told}


def _read(given: Any, version: int) -> Any:
    if not isinstance(given, dict) or set(given) != {"question", "fields"}:
        raise ParameterError(
            "This is not a question.", hint='Write {"question": "Count", "fields": {...}}.'
        )
    kind, told = QUESTIONS.get(str(given["question"])), given["fields"]
    if kind is None or not isinstance(told, dict):
        raise ParameterError(
            f"There is no question {given['question']!r}.",
            hint=f"These are: {', '.join(QUESTIONS)}.",
        )
    if not isinstance(told.get("questions", []), list):
        raise ParameterError("questions must be a list of questions.", hint="See docs/json.md.")
    later = getattr(kind, "later", ()) if version == 1 else ()
    known = {name: field for name, field in _given(kind).items() if name not in later}
    unknown = set(told) - known.keys()
    missing = required(kind) - set(told)
    if unknown or missing:
        word, name = ("no", min(unknown)) if unknown else ("not its", min(missing))
        raise ParameterError(
            f"{kind.__name__} has {word} field {name!r}.",
            hint=f"Its fields are {', '.join(known)}.",
            field=name,
        )
    read = {
        name: [_read(part, version) for part in value]
        if name == "questions"
        else value_of(  # version 1 as loosely as 0.2 read it
            value if version == 1 else known[name].fitting(value, name=name)
        )
        for name, value in told.items()
    }
    if version == 1 and hasattr(kind, "from_version_1"):
        read = kind.from_version_1(read)
    return called(kind, **read)


def required(kind: Any) -> set[str]:
    """The fields that a question is not made without.

    >>> import onesided as od
    >>> sorted(required(od.TopK))
    ['epsilon', 'k']
    """
    return {
        one.name
        for one in fields(kind)
        if one.init and one.default is MISSING and one.default_factory is MISSING
    }


# Releases as JSON, and back: the public columns, what they promise, and where they stand.

_FACTS: Final = ("entry", "told_again", "drawn", "cut")


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
    promise, beside = release.guarantee, release.table.names("beside")
    told: dict[str, Any] = (
        {"answers": [_written(one) for one in release.parts]}
        if isinstance(release, Answers)
        else {"columns": [[name, written(list(v))] for name, v in release.columns().items()]}
    )
    return {
        "release": release.kind,
        "statement": release.statement.to_json(),
        "found": release.summary,
        **told,
        **({"beside": beside} if beside else {}),
        **({"notes": list(release.notes)} if release.notes else {}),
        "guarantee": {
            "policy": promise.policy,
            "epsilon": {edge: text(loss) for edge, loss in promise.epsilon.items()},
            "delta": {edge: text(loss) for edge, loss in promise.delta.items()},
            "about": promise.about,
            "scope": promise.scope,
        },
        **{name: getattr(release, name) for name in _FACTS},
    }


def release_from_json(given: str, *, frame: FrameMaker | None = None) -> Release:
    """The release that was written; several answers as several.

    frame: makes ``release.frame`` of columns, such as ``pandas.DataFrame``; None is the first that
    is installed of Polars, pandas and PyArrow.
    Errors: ParameterError for anything else.

    >>> import polars as pl, onesided as od
    >>> people, policy = pl.DataFrame({"person": [1, 2]}), od.policy.addition_only()
    >>> session = od.Session(people, unit="person", policy=policy, budget=90)
    >>> release = session.count(epsilon=80)
    >>> release_from_json(release_to_json(release)).value
    2.0
    """
    try:
        return _release(opened(given)[0], frame=frame)
    except (TypeError, ArithmeticError, AttributeError, RecursionError) as error:
        raise ParameterError(
            f"This is not a release: {error}.", hint="See docs/json.md."
        ) from error


def _release(
    given: object, *, frame: FrameMaker | None = None, name: str = "the release", alone: bool = True
) -> Release:
    """The release of an object. alone: whether it may be several answers."""
    found = read(_RELEASE, given, what=name)
    promise, told = found.pop("guarantee"), found.keys() & {"columns", "answers"}
    if len(found.keys() & {"statement", "title"}) != 1 or len(told) != 1:
        raise ParameterError(
            f"{name} has {', '.join(sorted(found))}.",
            hint="It has a statement, and either columns or answers; see docs/json.md.",
        )
    epsilon, delta = promise["epsilon"], promise["delta"]
    if not (all(loss <= 1 for loss in delta.values()) and delta.keys() <= epsilon.keys()):
        raise ParameterError(
            f"delta is {delta!r:.60}.", hint="It is 0 to 1 on edges that have an epsilon."
        )
    said = found.pop("statement", None) or Statement(measure=found.pop("title"))
    kind, summary = found.pop("release"), found.pop("found", "")
    columns, beside = found.pop("columns", {}), found.pop("beside", ())
    answers = found.pop("answers", ())
    shared: dict[str, Any] = {
        **found,
        "guarantee": Guarantee(**promise, asked=said.asked.title()),
        "asked": said.asked,
        "notes": tuple(found.get("notes", ())),
        "_make_frame": frame,
    }
    if "answers" in told:
        if not alone:
            raise ParameterError("Several answers stand within several.", hint="See docs/json.md.")
        own: dict[str, Any] = {"frame": frame, "name": f"an answer of {name}", "alone": False}
        return Answers(parts=tuple(_release(one, **own) for one in answers), **shared)
    steps = kind == "MonitorRelease"
    roles: dict[str, Any] = {"status": "fact", "at_most": "upper"} if steps else {}
    if steps and "open_at_least" in columns:
        roles["open_at_least"] = "lower"
    sure = tuple(name for name in roles if name != "status")
    if kind in ("SampleRelease", "SyntheticRelease"):
        roles = dict.fromkeys(columns, "row")
    table = RoleTable.of(columns, beside=tuple(beside), roles=roles, sure=sure)
    return Release(kind=kind, told=table, summary=summary, bound_words=said.confidence, **shared)


def _line(given: object, *, name: str) -> str:
    """A reader of words on one line, whatever they hold."""
    return one_line(plain_text(given, name=name))


def _loss(given: object, *, name: str) -> Any:
    """A reader of an exact loss, or an infinite one."""
    if given == text(INFINITE):
        return INFINITE
    return non_negative(of("text", str)(given, name=name), name=name)


def _by_edge(each: Reader[Any]) -> Reader[dict[str, Any]]:
    """A reader of a value per edge, whose name is on one line."""
    return lambda given, *, name: {
        _line(edge, name="an edge"): some for edge, some in table(each)(given, name=name).items()
    }


def _columns(given: object, *, name: str) -> dict[str, Any]:
    """A reader of columns of one length, each once, whose marks are true or false."""
    pairs = listing(listing(_as_is, "a name and a list", least=2, most=2))(given, name=name)
    columns = {plain_text(one, name=name): value_of(values) for one, values in pairs}
    for values in columns.values():
        of("a list", list)(values, name=name)
    if len(columns) < len(pairs) or len(set(map(len, columns.values()))) > 1:
        raise ParameterError(
            f"Its columns are {list(columns)!r:.100}.", hint="Each stands once, all of one length."
        )
    for mark in ("lower_certain", "upper_certain"):
        listing(is_flag)(columns.get(mark, ()), name=mark)
    return columns


def _as_is(given: object, *, name: str) -> Any:
    del name
    return given


_PROMISE: Final[Fields] = {
    **{name: Field(_line) for name in ("policy", "about", "scope")},
    "epsilon": Field(_by_edge(_loss)),
    "delta": Field(_by_edge(non_negative)),
}
_RELEASE: Final[Fields] = {
    "release": Field(_line),
    "guarantee": Field(lambda given, *, name: read(_PROMISE, given, what=name)),
    "statement": Field(lambda given, **_: Statement.from_json(given), default=None),
    "columns": Field(_columns, default=None),
    "answers": Field(listing(_as_is), default=None),
    **{name: Field(listing(_line), default=()) for name in ("beside", "notes")},
    **{name: Field(_line, default="") for name in ("title", "found")},
    "entry": Field(whole, optional=True),
    "told_again": Field(is_flag),
    **{name: Field(_line) for name in ("drawn", "cut")},
}
