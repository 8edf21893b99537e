"""Every figure, verdict and file of a paper on one page that needs no network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from onesided.errors import OutputError
from onesided_experiments._model import Paper, Setup

if TYPE_CHECKING:
    from onesided_experiments._run import Outcome

_STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}"
    "img{max-width:100%}table{border-collapse:collapse}td,th{border:1px solid #ccc;"
    "padding:.3rem .6rem;text-align:left;vertical-align:top}.verdict{white-space:nowrap}"
)


def write(paper: Paper, outcomes: Sequence[Outcome], setup: Setup, out: Path) -> Path:
    """One page with every picture, verdict and file."""
    parts = [
        "<!doctype html><meta charset=utf-8>",
        f"<title>{html.escape(paper.title)}</title><style>{_STYLE}</style>",
        f"<h1>{html.escape(paper.title)}</h1>",
        f"<p>Seed {setup.seed}{', quick form: too small to judge' * setup.quick}.</p>",
    ]
    for outcome in outcomes:
        parts.append(f"<h2>{html.escape(outcome.experiment.title)}</h2>")
        parts += _section(outcome)
    path = out / "index.html"
    try:
        path.write_text("\n".join(parts), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error}") from error
    return path


def _section(outcome: Outcome) -> list[str]:
    if outcome.skipped:
        return [f"<p>skipped: data not found ({html.escape(outcome.experiment.needs)})</p>"]
    parts = []
    if outcome.claims:
        parts.append("<table><tr><th>claim<th>judges<th>measured<th>verdict</tr>")
        parts += [
            f"<tr><td>{html.escape(claim.text)}<td>{claim.judges}<td>{html.escape(claim.measured)}"
            f"<td class=verdict>{claim.verdict}</tr>"
            for claim in outcome.claims
        ]
        parts.append("</table>")
    parts += [f"<p>{html.escape(note)}</p>" for note in outcome.notes]
    for file in outcome.files:
        name = html.escape(file.name)
        picture = f"<img src='{name}' alt='{name}'>" if file.suffix == ".png" else name
        parts.append(f"<p><a href='{name}'>{picture}</a></p>")
    return parts
