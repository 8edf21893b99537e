"""Pages of one file: an answer with its pictures and table, what monitors show; and notebooks'."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from onesided._english import one_line
from onesided.errors import MissingDependencyError
from onesided.show._chart import Chart
from onesided.show._svg import svg_text
from onesided.show._table import EMPTY, RoleTable

TABLE_LIMIT: Final = 20_000  # rows in a page's own table
_WIDE: Final = 1100
_NARROW: Final = 340
_FIRST: Final = 7
_LAST: Final = 3
# Colours with enough contrast on white and on black alike; notebooks have either.
_BOX: Final = "font:13px/1.45 system-ui,sans-serif;max-width:60em;overflow-x:auto"
_WARNING: Final = "border-left:4px solid #D55E00;padding:2px 10px;margin:6px 0"
_QUIET: Final = "opacity:.75;margin:4px 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """An answer as one HTML file that asks the network for nothing; every value is public.

    title: its heading. asked: what was asked, where that does not say it all. first: what must be
    known before any number. charts: its pictures. table: its rows, as HTML; rows: how many of them
    are there, and how many the answer has. noun: what a row is. threshold: T of "at most T", if
    the table has a column ``status``; certified: how many rows are; scope: what a certain bound is
    about, where that is not the data as they are. facts: headline numbers. lines: sentences on the
    answer. promise: what is promised, in sentences. edges: the guarantee per edge, as (edge, ε, δ).
    notes: caveats. ledger: an extract; the keys of the first entry become the columns.

    >>> page = Page(title="Counts <b>", table="<table></table>", rows=(1, 1), lines=("ε = 1",))
    >>> "<h1>Counts &lt;b&gt;</h1>" in page.html()
    True
    """

    title: str
    table: str
    rows: tuple[int, int]
    asked: str = ""
    first: Sequence[str] = ()
    charts: Sequence[Chart] = ()
    noun: str = "row"
    threshold: int | None = None
    certified: int = 0
    scope: str = ""
    facts: Sequence[tuple[str, str]] = ()
    lines: Sequence[str] = ()
    promise: Sequence[str] = ()
    edges: Sequence[tuple[str, str, str]] = ()
    notes: Sequence[str] = ()
    ledger: Sequence[Mapping[str, str]] = ()

    def html(self) -> str:
        """The page as text. Errors: MissingDependencyError without jinja2."""
        return fill(
            resource("report.html"),
            data={},
            css=resource("report.css"),
            script=resource("report.js"),
            title=self.title,
            page=self,
            pictures=[drawn_twice(chart) for chart in self.charts],
        )


def drawn_twice(chart: Chart) -> tuple[str, str]:
    """The picture for wide windows and for narrow ones, for a page that has its words around it.

    >>> import numpy as np
    >>> from onesided.show import Dots
    >>> dots = Dots(labels=["gym"], estimate=np.array([3.0]))
    >>> wide, narrow = drawn_twice(Chart(title="Counts", shape=dots, value_name="people"))
    >>> 'width="1100"' in wide, 'width="340"' in narrow
    (True, True)
    """
    wide, narrow = (svg_text(chart, width=width, words=False) for width in (_WIDE, _NARROW))
    return wide, narrow


def fill(
    template: str,
    *,
    data: object,
    css: str,
    script: str,
    parts: Mapping[str, str] | None = None,
    live: bool = False,
    **words: Any,
) -> str:
    """The template with its words, which are escaped, its style and its script, which are not.

    data: what the script reads, as JSON. css: what the page adds to the common look. parts: other
    templates that it uses, by name. live: whether it may read its own folder. Only ``script`` may
    run in the page. Errors: MissingDependencyError without jinja2.

    >>> fill("<h1>{{ title }}</h1>", data=[], css="", script="", title="<b>")
    '<h1>&lt;b&gt;</h1>'
    """
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined  # noqa: PLC0415 - optional, and slow
        from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2
    except ImportError as error:
        raise MissingDependencyError(
            "A page needs jinja2.", hint="pip install 'onesided[cli]'"
        ) from error
    shared = {name: resource(name) for name in ("kit.html", "macros.html")}
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=DictLoader({**shared, "show/macros.html": shared["macros.html"], **(parts or {})}),
    )
    environment.filters["moment"] = moment
    script = resource("kit.js") + script
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return environment.from_string(template).render(
        **words,
        data=Markup(as_script_json(data)),  # noqa: S704 - escaped there
        css=Markup(resource("look.css") + css),  # noqa: S704 - ours
        script=Markup(script),  # noqa: S704 - ours
        script_hash=f"sha256-{digest}",
        live=live,
    )


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


def resource(name: str, *, package: str = "onesided.show") -> str:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A heading, what must be known first, a table, and lines below it.

    asked: what was asked, where the heading does not say it all. first: warnings. table: its first
    and last rows are shown. confidence: of bounds that are not certain, in words. picture: SVG of
    our own making, shown as it is.

    >>> table = RoleTable.of({"place": ["gym"], "estimate": [3]})
    >>> "<td" in Card(title="Counts", table=table).html()
    True
    """

    title: str
    asked: str = ""
    first: Sequence[str] = ()
    table: RoleTable = EMPTY
    confidence: str = ""
    lines: Sequence[str] = ()
    picture: str = ""

    def html(self) -> str:
        """The card as HTML: no script, no style sheet, nothing fetched."""
        parts = [
            f"<strong>{_plain(self.title)}</strong>",
            f"<div>{_plain(self.asked)}</div>" if self.asked else "",
            *(f'<div role="note" style="{_WARNING}">{_plain(words)}</div>' for words in self.first),
            self.picture,
            self.table.html(self.confidence, first=_FIRST, last=_LAST) if self.table.parts else "",
            *(f'<div style="{_QUIET}">{_plain(line)}</div>' for line in self.lines),
        ]
        return f'<div style="{_BOX}">{"".join(filter(None, parts))}</div>'


def _plain(words: str) -> str:
    return html.escape(one_line(words))
