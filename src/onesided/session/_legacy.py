"""Answers stored by onesided 0.1: JSON, told from others by facts that each question chose.

Nothing is written in this form any more. What 0.1 compared is compared here, question by question;
an answer whose question means something else today (a mean, a variance) is told to nobody.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from onesided._numbers import text
from onesided.errors import OnesidedError
from onesided.linear import Operator
from onesided.mechanism import CubeEstimates, CubeThresholds
from onesided.session._context import QueryContext, condition
from onesided.session._question import Packed, PreparedQuery
from onesided.store import read_json

Facts = Mapping[str, object]
# Sentences and names, which say nothing that other facts do not say.
_WORDS: Final = ("about", "strategy")


def packed(
    payload: bytes, question: Any, prepared: PreparedQuery[Any, Any], context: QueryContext
) -> tuple[bool, Packed]:
    """Whether a stored answer of 0.1 answers this question, and its parts."""
    if context.declared is not None:  # 0.1 knew no schemas
        return False, ({}, {})
    try:
        stored = read_json(payload)
    except ValueError:
        stored = None
    if not isinstance(stored, dict):
        return False, ({}, {})
    if stored.get("rows") == "not kept":
        return True, ({"units": stored.get("units")}, {})
    about, answer = stored.get("about"), stored.get("answer")
    asked = _ABOUT.get(type(question).__name__)
    if not isinstance(about, dict) or not isinstance(answer, dict) or asked is None:
        return False, ({}, {})
    now = json.loads(json.dumps({**asked(question, prepared, context), **prepared.detail}))
    return _facts(about) == _facts(now), _parts(answer)


def _facts(about: Mapping[str, Any]) -> dict[str, object]:
    facts = {name: fact for name, fact in about.items() if name not in _WORDS}
    if facts.get("where"):
        try:
            chosen = condition(facts["where"])
            facts["where"] = chosen.text if chosen else ""
        except OnesidedError:  # no condition of today's language: the same as no other
            facts["where"] = {"unreadable": facts["where"]}
    return facts


def _parts(answer: Mapping[str, Any]) -> Packed:
    """Lists of numbers as arrays; found keys as the bytes that they were packed in."""
    facts: dict[str, Any] = {}
    columns, kinds = {}, {}
    for name, part in answer.items():
        if not isinstance(part, list):
            facts[name] = part
        elif len(part) == 2 and all(isinstance(one, str) for one in part):
            kinds[name], raw = part[0], zlib.decompress(base64.b64decode(part[1]))
            columns[name] = np.frombuffer(raw, dtype=np.uint8)
        else:
            columns[name] = np.asarray(part)
    return ({**facts, "kinds": kinds} if kinds else facts), columns


def _keys(groups: Any) -> list[list[str]]:
    return [[repr(part) for part in row] for row in groups.keys.rows]


def _rates(mechanism: Any) -> dict[str, object]:
    return {"upper_rate": text(mechanism.upper_rate), "lower_rate": text(mechanism.lower_rate)}


def _count(question: Any, prepared: Any, context: QueryContext) -> Facts:
    if isinstance(prepared.plan.mechanism, CubeEstimates):  # 0.1 drew each on its own
        return {"together": True}
    return {**_rates(prepared.plan.mechanism), "keys": _keys(question.groups(context))}


def _top_k(question: Any, prepared: Any, context: QueryContext) -> Facts:
    rate = text(prepared.plan.mechanism.upper_rate)
    return {"top_k": question.k, "rate": rate, "keys": _keys(question.groups(context))}


def _above(question: Any, prepared: Any, context: QueryContext) -> Facts:
    mechanism = prepared.plan.mechanism
    levels = mechanism.thresholds
    if isinstance(mechanism, CubeThresholds):  # 0.1 drew each on its own
        return {"together": True}
    return {
        "thresholds": list(levels) if isinstance(levels, tuple) else levels,
        "max_answers": mechanism.max_answers,
        "rate": text(mechanism.upper_rate),
        "keys": _keys(question.groups(context)),
    }


def _enclosed(question: Any, prepared: Any, context: QueryContext) -> Facts:
    mechanism = prepared.plan.mechanism
    facts = {"rate": text(mechanism.upper_rate), "width": mechanism.width}
    return {**facts, "keys": _keys(question.groups(context))}


def _sum(question: Any, prepared: Any, context: QueryContext) -> Facts:
    del prepared
    groups = question.groups(context)
    slopes = question.noise(context, groups, question.value(context)).slopes
    return {"sum": True, "keys": _keys(groups), **_rates(slopes)}


def _histogram(question: Any, prepared: Any, context: QueryContext) -> Facts:
    if question.method != "counts":
        return {"mechanism": repr(prepared.plan.mechanism)}
    binned = question.binned(context)
    return {
        **_rates(prepared.plan.mechanism),
        "keys": _keys(binned.question.groups(binned.context)),
    }


def _quantile(question: Any, prepared: Any, context: QueryContext) -> Facts:
    if question.chosen_method != "cumulative":
        return {}  # no version of those days could answer so
    binned = question.binned(context)
    keys = _keys(binned.question.groups(binned.context))
    return {"keys": keys, "mechanism": repr(prepared.plan.mechanism)}


def _linear(question: Any, prepared: Any, context: QueryContext) -> Facts:
    mechanism = prepared.plan.mechanism
    return {
        "keys": _digest(_keys(question.cells(context))),
        "measured": _fingerprint(mechanism.strategy),
        "workload": _fingerprint(mechanism.workload),
        "rates": [text(mechanism.upper_rate), text(mechanism.lower_rate)],
    }


def _unknown(question: Any, prepared: Any, context: QueryContext) -> Facts:
    del question, context
    mechanism = prepared.plan.mechanism
    return {"lower_rate": text(mechanism.lower_rate), "threshold": mechanism.threshold}


_ABOUT: Final[Mapping[str, Callable[[Any, Any, QueryContext], Facts]]] = {
    "Above": _above,
    "AtMost": _above,
    "Count": _count,
    "Discover": _unknown,
    "Enclosed": _enclosed,
    "Histogram": _histogram,
    "LinearQuery": _linear,
    "Ngrams": _unknown,
    "Quantile": _quantile,
    "RangeQuery": _linear,
    "Sum": _sum,
    "TopK": _top_k,
}


def _digest(texts: object) -> str:
    return hashlib.sha256(repr(texts).encode()).hexdigest()


def _fingerprint(operator: Operator) -> str:
    cells = np.arange(1, operator.shape[1] + 1, dtype=np.int64)
    found = [operator.apply(v) for v in (cells, cells * (cells % 7 + 1) % 1009)]
    return _digest((operator.shape, [hashlib.sha256(f.tobytes()).hexdigest() for f in found]))
