"""The reference of the HTTP API, from the application's own OpenAPI description.

    python scripts/http_reference.py        print it; the site puts it into docs/http.md

Nothing of it is written by hand: an address that the service has, the page has.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

MARK: Final = "<!-- reference -->"


def described() -> dict[str, Any]:
    """The OpenAPI description of a service without datasets."""
    from onesided.serve import ServiceConfig, create_app  # noqa: PLC0415 - an extra

    with tempfile.TemporaryDirectory() as folder:
        app = create_app(ServiceConfig(folder=Path(folder)))
        found: dict[str, Any] = app.openapi()
        app.state.service.state.close()
        return found


def reference(description: dict[str, Any]) -> str:
    """The page's part: every address, in the order of the description."""
    lines = ["## Addresses", ""]
    for path, methods in description["paths"].items():
        for method, told in methods.items():
            lines += [f"### `{method.upper()} {path}`", "", *_told(told), ""]
    return "\n".join(lines)


def _told(told: dict[str, Any]) -> list[str]:
    words = str(told.get("description") or told.get("summary", "")).strip()
    lines = [words, ""] if words else []
    parameters = [one for one in told.get("parameters", ()) if one["in"] != "cookie"]
    if parameters:
        lines += ["| parameter | in | type |", "|---|---|---|"]
        lines += [
            f"| `{one['name']}`{'' if one.get('required') else ' (optional)'} | {one['in']} "
            f"| {_type(one.get('schema', {}))} |"
            for one in parameters
        ]
        lines.append("")
    body = told.get("requestBody", {}).get("content", {})
    if body:
        lines += [f"Body: {', '.join(f'`{kind}`' for kind in body)}.", ""]
    statuses = ", ".join(f"`{status}`" for status in told.get("responses", {}))
    return [*lines, f"Answers: {statuses}."] if statuses else lines


def _type(schema: dict[str, Any]) -> str:
    return str(schema.get("type", "any"))


if __name__ == "__main__":
    print(reference(described()))
