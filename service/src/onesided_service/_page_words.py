"""What the pages of datasets and answers say, worked out beside the event loop."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fastapi import Response

from onesided.errors import OnesidedError
from onesided.schema import Schema
from onesided.session import question_from_json, release_from_json, statement_of, total_guarantee
from onesided.show import csv_text
from onesided_service._api import described, planned
from onesided_service._asking import Ask
from onesided_service._border import asked_in
from onesided_service._border import text_of as text_of_question
from onesided_service._clock import text_of
from onesided_service._datasets import Dataset
from onesided_service._errors import ServiceError, not_found
from onesided_service._form import Asked
from onesided_service._page_kit import (
    error_words,
    refusal_of,
)
from onesided_service._people import CURATOR, Person
from onesided_service._preview import preview
from onesided_service._same import sql_of
from onesided_service._service import Service
from onesided_service._views import (
    ReleaseView,
    column_views,
    edge_view,
    groups_of,
    numbers_of,
    picture_of,
    price_view,
)


def dataset_view(service: Service, found: Dataset, person: Person) -> dict[str, Any]:
    """A dataset as its pages show it."""
    facts = described(service, found, person)
    return {
        "name": found.name,
        "title": found.title,
        "open": facts["open"],
        "words": facts["policy"]["words"],
        "toml": facts["policy"]["toml"],
        "picture": picture_of(found.policy),
        "unit": found.schema.unit,
        "columns": column_views(found.schema),
        "groups": groups_of(found.schema),
        "numbers": numbers_of(found.schema),
        "rows": facts["declared_rows"],
        "refills": facts["refills"],
        "edges": _edges(facts, found, person),
        "curator": person.may(CURATOR, found.name),
        "together": _together(found) if facts["open"] else "",
    }


def told_words(service: Service, found: Dataset, person: Person, asked: Ask) -> dict[str, Any]:
    """What the page of an answer says."""
    ready = bool(asked.answer) and service.clock.now() >= asked.due
    question, published = question_from_json(asked.question), service.publishing.of(asked)
    return {
        "ask": {**ask_line(asked, service), "due": text_of(asked.due), "published": published},
        "releases": [ReleaseView.of(one) for one in parts_of(asked.answer)] if ready else [],
        "ways": ways_of(service, found, question) if ready else [],
        "may_publish": person.may(CURATOR, found.name) or found.config.analysts_publish,
    }


def ways_of(service: Service, found: Dataset, question: Any) -> list[tuple[str, str]]:
    """The same question for programs. None where the dataset is closed."""
    try:
        session = found.session()
        plan = planned(service, found, {"question": json.loads(text_of_question(question))})
    except (ServiceError, OnesidedError):
        return []
    query = sql_of(question, session, table=found.name)
    return [
        ("Python", plan["python"]),
        *([("SQL", query)] if query else []),
        ("Shell", plan["shell"]),
    ]


def parts_of(answer: str) -> list[Any]:
    """The releases in a kept answer."""
    release = release_from_json(answer)
    return list(getattr(release, "releases", (release,)))


def csv_of(parts: list[Any], number: int, *, name: str) -> Response:
    """One of several answers as a table for spreadsheets. Errors: ServiceError."""
    if not 1 <= number <= len(parts):
        raise not_found()
    columns = parts[number - 1].columns()
    text = csv_text(list(columns), zip(*columns.values(), strict=True))
    ending = "" if len(parts) == 1 else f"-{number}"
    return file(text, f"{name}{ending}.csv", "text/csv; charset=utf-8")


def file(text: str, name: str, kind: str) -> Response:
    """A download."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text.encode(), media_type=kind, headers=headers)


def ask_line(asked: Ask, service: Service) -> dict[str, Any]:
    """An ask in a list."""
    question = question_from_json(asked.question)
    ready = bool(asked.answer) and service.clock.now() >= asked.due
    found = service.datasets.get(asked.dataset)
    schema = Schema() if found is None else found.schema
    about = statement_of(question, unit=schema.unit, noun=schema.noun)
    return {
        "id": asked.id,
        "dataset": asked.dataset,
        "asked": asked.asked,
        "title": f"{asked.name}: {about.title()}" if asked.name else about.title(),
        "epsilon": str(getattr(question, "epsilon", "")),
        "state": "answered" if ready else "on its way",
    }


def filled_in(form: dict[str, list[str]]) -> Asked:
    """A form as it was filled in."""
    fields = {name: values[0] for name, values in form.items()}
    return Asked.of(fields, tuple(form.get("by", ())))


def priced(service: Service, found: Dataset, person: Person, asked: Asked) -> dict[str, Any]:
    """The price, or why there is none yet."""
    try:
        plan = planned(service, found, asked.body)
        mine = described(service, found, person).get("allowance_left")
    except (ServiceError, OnesidedError) as error:
        return {"price": None, "refused": error_words(refusal_of(error))}
    if mine is not None:
        within = all(_covers(mine.get(edge), loss) for edge, loss in plan["charge"].items())
        plan = {**plan, "affordable": plan["affordable"] and within}
    return {"price": price_view(plan), "refused": None}


def _covers(left: str | None, loss: str) -> bool:
    return left is not None and _number(loss) <= _number(left)


def _number(written: str) -> Any:
    try:
        return Fraction(written)
    except ValueError:
        return float("inf")


def previewed(found: Dataset, asked: Asked) -> list[ReleaseView]:
    """Answers about made-up data. Errors: ServiceError; OnesidedError."""
    found.require_open()
    question = asked_in(asked.body, found.session(), cells=found.config.cells)[0]
    shown = preview(question, schema=found.schema, policy=found.policy)
    return [replace(ReleaseView.of(one, made_up=True), entry=None) for one in shown]


def ways_asked(service: Service, found: Dataset, asked: Asked) -> list[tuple[str, str]]:
    """The question of a form for programs; none where it is not complete."""
    try:
        question = asked_in(asked.body, found.session(), cells=found.config.cells)[0]
    except (ServiceError, OnesidedError):
        return []
    return ways_of(service, found, question)


def _edges(facts: dict[str, Any], found: Dataset, person: Person) -> list[dict[str, Any]]:
    if "budget" not in facts:
        return []
    each = None if person.may(CURATOR, found.name) else found.config.allowance
    weights = {edge.name: edge.weight for edge in found.policy.edges}
    return [
        edge_view(
            edge,
            budget=Fraction(budget),
            spent=Fraction(facts["spent"][edge]),
            allowed=None if each is None else each * weights[edge],
            used=Fraction(0) if each is None else Fraction(facts["allowance_spent"].get(edge, 0)),
        )
        for edge, budget in facts["budget"].items()
    ]


def _together(found: Dataset) -> str:
    """What the accounts of its ledger promise together, where there are several."""
    ledger = found.session().ledger
    if len(list(ledger.accounts())) < 2:
        return ""
    try:
        return str(total_guarantee(ledger, found.policy, of="budget", policies=[found.policy]))
    except OnesidedError:  # a policy on record that this version cannot read
        return "Its ledger holds accounts of several policies; together they promise less."


def example(found: Dataset) -> str:
    """A query to begin with."""
    groups = groups_of(found.schema)
    counted = "COUNT(*)" if found.schema.unit is None else f"COUNT(DISTINCT {found.schema.unit})"
    if not groups:
        return f"SELECT {counted}\nFROM {found.name}"
    return f"SELECT {groups[0]}, {counted}\nFROM {found.name}\nGROUP BY {groups[0]}"
