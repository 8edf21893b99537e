"""Templates, and what they say amounts and times with."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined
from jinja2.loaders import ChoiceLoader
from markupsafe import Markup

from onesided.numbers import INFINITE, text
from onesided.report import moment, resource

# Our own files, and those that reports and monitors have already.
FILES: Final[Mapping[str, tuple[str, str]]] = {
    "look.css": ("onesided.report", "text/css"),
    "report.css": ("onesided.report", "text/css"),
    "kit.js": ("onesided.report", "text/javascript"),
    "page.css": ("onesided.monitor", "text/css"),
    "service.css": ("onesided_service", "text/css"),
    "service.js": ("onesided_service", "text/javascript"),
    "monitor.js": ("onesided.monitor", "text/javascript"),
    "icon.svg": ("onesided_service", "image/svg+xml"),
}
_DIGITS: Final = 4


@cache
def static_text(name: str) -> str:
    """The text of a file of :data:`FILES`."""
    package, _ = FILES[name]
    return resource(f"static/{name}" if package == "onesided_service" else name, package=package)


@cache
def static_address(name: str) -> str:
    """Where a file is, under a name that changes with its text: it may be kept for ever.

    >>> static_address("look.css").startswith("/static/look.css?v=")
    True
    """
    digest = hashlib.sha256(static_text(name).encode()).hexdigest()
    return f"/static/{name}?v={digest[:16]}"


def amount(value: object) -> str:
    """An exact amount, given as text, for people; what is not exact says so.

    >>> amount("1/2"), amount("1/3"), amount("3")
    ('0.5', '≈ 0.3333', '3')
    """
    written = str(value)
    if written == text(INFINITE):
        return written
    exact = Fraction(written)
    shown = f"{float(exact):,.{_DIGITS}g}" if abs(exact) < 1000 else f"{float(exact):,.0f}"
    same = Fraction(shown.replace(",", "")) == exact
    return shown if same else f"≈ {shown}"


def clock(value: object) -> Markup:
    """The time of day of an instant, to the second."""
    at = dt.datetime.fromisoformat(str(value)).astimezone(dt.UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(value, f"{at:%H:%M:%S}")


@cache
def templates() -> Environment:
    """The service's templates; everything is escaped, and a word that is missing is an error."""
    own = PackageLoader("onesided_service")
    shared = PrefixLoader(
        {name: PackageLoader(f"onesided.{name}", ".") for name in ("report", "monitor")}
    )
    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=ChoiceLoader([own, shared]),
    )
    made.filters |= {"amount": amount, "moment": moment, "clock": clock}
    made.globals["static"] = static_address
    return made


def filled(template: str, **words: Any) -> str:
    """A template with its words."""
    return templates().get_template(template).render(**words)
