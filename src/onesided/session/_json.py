"""Questions and releases as JSON, and back; what has no exact form is refused."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any, Final

from onesided._english import one_line
from onesided._numbers import INFINITE, exact, non_negative, text, whole
from onesided.errors import ParameterError, called
from onesided.fields import is_flag
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


def opened(text: object, *forms: set[str]) -> dict[str, Any]:
    """The object in a text, of one form's names and the version alone. Errors: ParameterError."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ParameterError("This is not text of at most 64 MB.", hint="See docs/json.md.")
    try:
        found = read_json(text, once=True)
    except (ValueError, RecursionError) as error:
        raise ParameterError(
            f"This is not valid JSON: {error}.", hint="See docs/json.md."
        ) from error
    if not isinstance(found, dict) or all(set(found) != {"version", *form} for form in forms):
        keys = sorted(map(str, found)) if isinstance(found, dict) else found
        names = " or of ".join(", ".join(sorted({"version", *form})) for form in forms)
        raise ParameterError(
            f"An object of {names} is expected, got {keys!r}.",
            hint="Unknown names are refused; see docs/json.md.",
        )
    if type(found["version"]) is not int or found["version"] not in _READ:
        raise ParameterError(
            f"This is of version {found['version']!r}; versions 1 and {VERSION} are read.",
            hint="A newer release of onesided may read it.",
            version=found["version"],
        )
    return found


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
    found = opened(text, {"question", "fields"})
    try:
        return _read(found, found.pop("version"))
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
_PROMISE: Final = {"policy", "epsilon", "delta", "about", "scope"}
_PARTS: Final = {"release", "guarantee", *_FACTS}
_TOLD: Final = ({"columns"}, {"columns", "beside"}, {"answers"})
_SAID: Final = ({"statement", "found"}, {"title"})  # of version 2, and of version 1
_NOTED: Final = (set[str](), {"notes"})
_FORMS: Final = tuple(
    _PARTS | said | told | noted
    for said, notes in zip(_SAID, (_NOTED, _NOTED[:1]), strict=True)
    for told in _TOLD
    for noted in notes
)


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
    found = opened(given, *_FORMS)
    del found["version"]
    return _release(found, frame)


def _release(found: Any, frame: FrameMaker | None) -> Release:
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
        said = Statement(measure=_text(found["title"], "title"))
    asked = said.asked
    try:
        given = found["entry"]
        epsilon = {_text(edge, "edge"): _loss(loss) for edge, loss in promise["epsilon"].items()}
        delta = {
            _text(edge, "edge"): exact(loss, name="delta")
            for edge, loss in promise["delta"].items()
        }
        if any(not 0 <= loss <= 1 for loss in delta.values()) or not delta.keys() <= epsilon.keys():
            raise ParameterError(
                f"delta is {promise['delta']!r:.60}.",
                hint="It is 0 to 1 on edges that have an epsilon.",
            )
        policy, about, scope = (_text(promise[name], name) for name in ("policy", "about", "scope"))
        shared: dict[str, Any] = {
            "guarantee": Guarantee(policy, epsilon, delta, about, scope, asked=asked.title()),
            "asked": asked,
            "notes": _texts(found, "notes"),
            "_make_frame": frame,
            "entry": (None if given is None else whole(given, name="entry")),
            "told_again": is_flag(found["told_again"], name="told_again"),
            "drawn": _text(found["drawn"], "drawn"),
            "cut": _text(found["cut"], "cut"),
        }
        if "answers" in found:
            return Answers(parts=tuple(_one(part, frame) for part in found["answers"]), **shared)
        columns = _columns(found["columns"])
        steps = found["release"] == "MonitorRelease"
        roles: dict[str, Any] = {"status": "fact", "at_most": "upper"} if steps else {}
        if steps and "open_at_least" in columns:
            roles["open_at_least"] = "lower"
        sure = tuple(name for name in roles if name != "status")
        if found["release"] in ("SampleRelease", "SyntheticRelease"):
            roles = dict.fromkeys(columns, "row")
        beside = _texts(found, "beside")
        return Release(
            kind=_text(found["release"], "release"),
            told=RoleTable.of(columns, beside=beside, roles=roles, sure=sure),
            summary=_text(found.get("found", ""), "found"),
            bound_words=said.confidence,
            **shared,
        )
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise ParameterError(
            f"This is not a release: {error}.", hint="See docs/json.md."
        ) from error


def _texts(found: Any, name: str) -> tuple[str, ...]:
    given = found.get(name, [])
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise ParameterError(f"{name} is {given!r:.60}.", hint="It is a list of texts.")
    return tuple(_text(one, name) for one in given)


def _text(given: object, name: str) -> str:
    """Words on one line, whatever they hold. Errors: ParameterError."""
    return one_line(plain_text(given, name=name))


def _columns(given: Any) -> dict[str, Any]:
    """Columns of one length, each once, whose marks are true or false. Errors: ParameterError."""
    names = [name for name, _ in given]
    columns = {plain_text(name, name="a column"): value_of(values) for name, values in given}
    if not all(isinstance(values, list) for values in columns.values()):
        raise TypeError("a column is a list")
    lengths = set(map(len, columns.values()))
    if len(columns) < len(names) or len(lengths) > 1:
        raise ParameterError(
            f"Its columns are {names!r:.100}.", hint="Each stands once, all of one length."
        )
    for name in ("lower_certain", "upper_certain"):
        for mark in columns.get(name, ()):
            is_flag(mark, name=name)
    return columns


def _one(part: Any, frame: FrameMaker | None) -> Release:
    """One of several answers, which is not several itself."""
    read = _release(part, frame)
    if not isinstance(read, Answers):
        return read
    raise ParameterError("Several answers stand within several.", hint="See docs/json.md.")


def _loss(given: str) -> Any:
    return INFINITE if given == text(INFINITE) else non_negative(given, name="epsilon")
