"""What a session says of each question, as plain documents.

Public names alone, but for two: ``onesided.session._recall.identity_of`` and the session's own
``_context`` and ``_completed`` that it needs. The ledger keeps only the digest of an identity; the
document shows what is in it, so that a difference can be read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import golden_tables as tables
import numpy as np

import onesided as od
from onesided.errors import OnesidedError
from onesided.ledger import decode_columns
from onesided.noise import NotPrivateSeededNoise
from onesided.session._recall import identity_of
from onesided.session.kit import prepared

SEED: Final = 2026
BUDGET: Final = {"budget": 10_000, "delta_budget": "1/10"}
_ID: Final = "golden"
# The last digits of a float are the processor's; whole numbers and fractions are exact.
_DIGITS: Final = 12


def names() -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Question, variant, policy and engines of every document.

    Every engine answers the first variant under every policy; DuckDB and Polars the first policy
    of every other variant; Polars, the quickest, answers all.
    """
    for question, variants in tables.QUESTIONS.items():
        for place, asked in enumerate(variants):
            for number, policy in enumerate(asked.policies):
                engines = tuple(tables.ENGINES)[: 3 if place == 0 else 2 if number == 0 else 1]
                yield question, asked.variant, policy, engines


def document(question: str, variant: str, policy: str, engines: Sequence[str]) -> dict[str, Any]:
    """What each engine says; a field in which they differ is a table ``by engine``."""
    (asked,) = (one for one in tables.QUESTIONS[question] if one.variant == variant)
    told = {engine: plain(_told(asked, policy, engine)) for engine in engines}
    fields = dict.fromkeys(field for one in told.values() for field in one)
    said = {field: _joined({e: one.get(field) for e, one in told.items()}) for field in fields}
    return {"engines": " ".join(engines), **said}


def of_engines(document: Mapping[str, Any], engines: Sequence[str]) -> dict[str, Any]:
    """The part of a document that these engines say."""
    found = {}
    for field, value in document.items():
        if isinstance(value, dict) and set(value) == {"by engine"}:
            each = {e: part for names, part in value["by engine"].items() for e in names.split()}
            found[field] = _joined({engine: each.get(engine) for engine in engines})
        else:
            found[field] = value
    said = {field: value for field, value in found.items() if value is not None}
    return said | {"engines": " ".join(engines)}


def _joined(told: Mapping[str, Any]) -> Any:
    """One value, or several by the engines that say them."""
    grouped: dict[str, list[str]] = {}
    for engine, value in told.items():
        grouped.setdefault(json.dumps(value), []).append(engine)
    if len(grouped) == 1:
        return json.loads(next(iter(grouped)))
    return {"by engine": {" ".join(some): json.loads(text) for text, some in grouped.items()}}


def _told(asked: tables.Asked, policy: str, engine: str) -> dict[str, Any]:
    """All that one engine's session says, in the order in which it is said."""
    made, told = tables.ENGINES[engine], {}
    question: Any = replace(asked.question, id=_ID)
    try:
        session = od.Session(
            made(tables.COLUMNS),
            policy=tables.POLICIES[policy],
            ledger=od.Ledger.open(None, who="golden"),
            noise=NotPrivateSeededNoise(SEED),
            tables={name: made(rows) for name, rows in tables.TABLES.get(policy, {}).items()},
            **tables.SESSIONS[asked.session],
            **BUDGET,
        )
        plan = session.plan(question)
        told["plan"] = planned(plan)
        told["identity"] = identity(session, question)
        release = session.ask(question)
    except OnesidedError as error:
        return {**told, "refused": refusal(error)}
    told["release"] = written(od.session.release_to_json(release))
    told["words"] = str(release).splitlines()
    return told | _kept(session, plan) | _again(session, question, release)


def documents() -> dict[str, Callable[[], Any]]:
    """Every question as JSON, and the form of all of them."""
    found: dict[str, Callable[[], Any]] = {
        f"questions/{name}/{asked.variant}": partial(_as_json, asked.question)
        for name, variants in tables.QUESTIONS.items()
        for asked in variants
    }
    return found | {"questions/schema": od.session.questions_schema}


def _as_json(question: Any) -> Any:
    try:
        text = od.session.question_to_json(question)
    except OnesidedError as error:
        return refusal(error)
    back = od.session.question_to_json(od.session.question_from_json(text))
    return {"json": written(text), "read back": "the same" if back == text else written(back)}


def identity(session: od.Session, question: Any) -> dict[str, object]:
    """What tells an answer to this question from answers to others."""
    completed, context = session._completed(question), session._context()  # noqa: SLF001
    return identity_of(completed, prepared(session, question), context)


def planned(plan: Any) -> dict[str, Any]:
    """A plan by its values, and as it is printed."""
    told = {
        "mechanism": type(plan.mechanism).__name__,
        "charge": plan.charge,
        "delta": plan.guarantee.delta,
        "promise": str(plan.guarantee),
        "certain": plan.certain,
    }
    if isinstance(plan, od.session.Plan):
        told |= {"standard_deviation": plan.standard_deviation, "bias": plan.bias}
        told["errors"] = [option.error for option in plan.options]
    return told | {"words": str(plan).splitlines()}


def refusal(error: OnesidedError) -> dict[str, str]:
    """An error as its caller reads it."""
    return {"error": type(error).__name__, "reason": error.reason, "hint": error.hint}


def written(text: str) -> Any:
    """A document of JSON; as text where it is not in the shortest form, which is pinned as well."""
    found = json.loads(text)
    same = json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False) == text
    return found if same else text


def _kept(session: od.Session, plan: Any) -> dict[str, Any]:
    """What the ledger holds of the release."""
    charged = session.ledger.entries(kind="spend")
    if not charged:
        return {"entry": "none: it is free"}
    (entry,) = charged
    told: dict[str, Any] = {
        "entry": {
            "label": entry.label,
            "detail": entry.detail,
            "unit": entry.unit and [entry.unit.column, entry.unit.read_as],
            "releases": entry.releases,
        }
    }
    if (entry.epsilon, entry.delta) != (plan.charge, plan.guarantee.delta):
        told["entry"] |= {"epsilon": entry.epsilon, "delta": entry.delta}
    stored = session.account.recall(_ID)
    meta, columns = decode_columns(stored.payload)
    told["stored"] = {
        "bytes": len(stored.payload),
        "facts": meta,
        **{name: [one.dtype.str, one.tolist()] for name, one in columns.items()},
    }
    return told | {"question": stored.question}


def _again(session: od.Session, question: Any, release: Any) -> dict[str, Any]:
    """What it says when it is asked again, which is charged for nothing."""
    if release.entry is None:
        return {}
    spent = session.spent
    try:
        again = session.ask(replace(question, again=True))
    except OnesidedError as error:
        return {"again": refusal(error)}
    same = again.columns() == release.columns() and again.told_again and spent == session.spent
    return {"again": "the same" if same else again.columns()}


def plain(value: Any) -> Any:
    """Values of JSON that differ where these do, floats to twelve digits."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value))
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(part) for part in value]
    return str(value)
