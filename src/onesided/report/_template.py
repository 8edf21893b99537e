"""Self-contained pages: a template, its words and its scripts in one file."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from onesided.errors import MissingDependencyError


def fill(
    template: str,
    *,
    data: object,
    css: str,
    script: str,
    parts: Mapping[str, str] | None = None,
    charts: bool = True,
    **words: Any,
) -> str:
    """The template with its words, which are escaped, its style and its two scripts, which are not.

    data: what the script reads, as JSON. css: what the page adds to the common look. parts: other
    templates that it uses, by name. charts: whether plotly draws its figures. Only plotly's bundle
    and ``script`` may run in the page.
    Errors: MissingDependencyError without plotly or jinja2.

    >>> fill("<h1>{{ title }}</h1>", data=[], css="", script="", title="<b>")
    '<h1>&lt;b&gt;</h1>'
    """
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined  # noqa: PLC0415 - optional, and slow
        from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2
        from plotly.offline import get_plotlyjs  # noqa: PLC0415 - optional, and slow
    except ImportError as error:
        raise MissingDependencyError(
            "the page needs plotly and jinja2", hint="pip install 'onesided[cli]'"
        ) from error
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=DictLoader({**_shared(), **(parts or {})}),
    )
    environment.filters["moment"] = moment
    script = resource("kit.js") + script
    plotly = get_plotlyjs() if charts else ""
    return environment.from_string(template).render(
        **words,
        data=Markup(as_script_json(data)),  # noqa: S704 - escaped there
        css=Markup(resource("look.css") + css),  # noqa: S704 - ours
        script=Markup(script),  # noqa: S704 - ours
        plotly=Markup(plotly),  # noqa: S704 - plotly's own bundle
        script_hashes=[_hash(text) for text in (script, plotly) if text],
        charts=charts,
    )


def _shared() -> dict[str, str]:
    macros = resource("macros.html")
    return {
        "kit.html": resource("kit.html"),
        "macros.html": macros,
        "report/macros.html": macros,
    }


def moment(value: object) -> Any:
    """A time as people read it, with its zone; what is no date stays as it is.

    >>> str(moment("2026-11-22T15:36:10.5+00:00"))
    '<time datetime="2026-11-22T15:36:10.5+00:00">22 November 2026, 15:36 UTC</time>'
    """
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    try:
        found = dt.datetime.fromisoformat(str(value))
    except ValueError:
        return Markup("{}").format(value)
    if str(value).isdecimal():
        return Markup("{}").format(value)
    zoned = "" if found.tzinfo is None else " UTC"
    at = found if found.tzinfo is None else found.astimezone(dt.UTC)
    words = f"{at.day} {at:%B %Y, %H:%M}{zoned}"
    return Markup('<time datetime="{}">{}</time>').format(value, words)


def resource(name: str, *, package: str = "onesided.report") -> str:
    """The text of a file that comes with the package.

    >>> resource("report.css").count("{") == resource("report.css").count("}")
    True
    """
    return (files(package) / name).read_text(encoding="utf-8")


def as_script_json(value: object) -> str:
    """JSON that may stand inside a script element whatever strings it holds.

    No ``<``, ``>`` or ``&`` is left, so that neither ``</script>`` nor ``<!--`` can appear, and
    only ASCII, so that no line separator can end a statement.
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(script: str) -> str:
    """The script's name in the page's content security policy; nothing else may run."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")
