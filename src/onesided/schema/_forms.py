"""The forms in which text may be written, checked: a closed list, each for its own types."""

from __future__ import annotations

import zoneinfo
from typing import Any, Final

from onesided.fields import shortened
from onesided.schema._checks import one_of, plain, words_of, wrong
from onesided.schema._reading import DECIMALS, NEEDED, THOUSANDS, split_date

_MOMENTS: Final = ("datetime with zone",)
# The types that each form is for.
FORMS: Final = {
    "decimal": ("number",),
    "thousands": ("integer", "number"),
    "date": tuple(NEEDED),
    "true": ("boolean",),
    "false": ("boolean",),
    "zone": _MOMENTS,
}
_LONGEST: Final = 60


def forms_of(kind: str, **given: Any) -> dict[str, Any]:
    """The forms of a column of this type. Errors: SchemaError naming the one that is wrong.

    >>> forms_of("number", decimal=",", thousands=".")
    {'decimal': ',', 'thousands': '.'}
    """
    found = {name: value for name, value in given.items() if value is not None}
    for name in found:
        if name not in FORMS:
            raise wrong(
                f"There is no form {shortened(name)}.", f"The forms are {', '.join(FORMS)}.", name
            )
        if kind not in FORMS[name]:
            raise wrong(
                f"A column of type {kind} has no {name}.",
                f"It is for columns of type {', '.join(FORMS[name])}.",
                name,
            )
    return found | _numbers(found) | _words(found) | _times(kind, found)


def _numbers(found: dict[str, Any]) -> dict[str, Any]:
    marks = {"decimal": DECIMALS, "thousands": THOUSANDS}
    for name in marks.keys() & found.keys():
        one_of(found[name], marks[name], name)
    if "thousands" in found and found["thousands"] == found.get("decimal", "."):
        raise wrong(
            f"thousands and decimal are both {shortened(found['thousands'])}.",
            'Declare the other one, too: decimal = ",".',
            "thousands",
        )
    return {}


def _words(found: dict[str, Any]) -> dict[str, Any]:
    words: dict[str, Any] = {
        name: words_of(found[name], name) or () for name in ("true", "false") if name in found
    }
    if len(words) == 1:
        raise wrong(
            f"{next(iter(words))} is declared alone.",
            'Declare both: true = ["ja"] and false = ["nein"]. No other text is read then.',
            next(iter(words)),
        )
    both = set(words.get("true", ())) & set(words.get("false", ()))
    if both:
        raise wrong(f"{shortened(min(both))} is true and false.", "List each text once.", "true")
    return words


def _times(kind: str, found: dict[str, Any]) -> dict[str, Any]:
    if "zone" in found:
        name = plain(found["zone"], "zone", empty=False)
        if name not in zoneinfo.available_timezones():
            raise wrong(f"There is no zone {shortened(name)}.", 'Write "Europe/Zurich".', "zone")
    if "date" not in found:
        return {}
    form = plain(found["date"], "date", empty=False)
    parts = split_date(form) if len(form) <= _LONGEST else None
    fields = "".join(mark for is_field, mark in parts or () if is_field)
    needed, more = NEEDED[kind]
    once = len(set(fields)) == len(fields)
    whole = set(needed) <= set(fields) <= set(needed + more) and (
        "f" not in fields or "S" in fields
    )
    zoned = kind not in _MOMENTS or ("z" in fields) != ("zone" in found)
    clear = all(part or not mark.isdigit() for part, mark in parts or ())
    if parts is None or not (once and whole and zoned and clear):
        raise wrong(
            f"date is {shortened(form)}, which is no form of a column of type {kind}.",
            f"It has each of the fields {_listed(needed)} once"
            f"{f', may have {_listed(more)}' if more else ''}, and no other digits. Moments with "
            'a zone have %z or a zone declared. Write "%d/%m/%Y" for 22/11/2026.',
            "date",
        )
    return {}


def _listed(fields: str) -> str:
    return ", ".join(f"%{field}" for field in fields)
