"""What one person sends."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from onesided.errors import DataError

FORMAT: Final = "onesided-local/1"
_HINT: Final = "Send what report(value).to_json() gave, unchanged."


@dataclass(frozen=True, slots=True)
class Report:
    """One randomised answer, and the fingerprint of the configuration that made it.

    The answer is one of the randomiser's outputs, or a text of bits. It is safe to send as it is.

    >>> report = Report("abc", "yes")
    >>> report.to_json(), Report.from_json(report.to_json()) == report
    ('{"answer":"yes","configuration":"abc","format":"onesided-local/1"}', True)
    """

    configuration: str
    answer: str

    def to_dict(self) -> dict[str, str]:
        """For JSON."""
        return {
            "answer": self.answer,
            "configuration": self.configuration,
            "format": FORMAT,
        }

    def to_json(self) -> str:
        """The report as one line of JSON; equal reports give equal text."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Read what :meth:`to_json` wrote. Errors: DataError for anything else."""
        try:
            found = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            raise DataError(f"A report is not JSON: {_short(text)}.", hint=_HINT) from None
        if not isinstance(found, dict) or set(found) != {"answer", "configuration", "format"}:
            raise DataError(
                f"A report needs answer, configuration and format, got {_short(text)}.",
                hint=_HINT,
            )
        if found["format"] != FORMAT:
            raise DataError(
                f"A report has the format {_short(found['format'])}, not {FORMAT!r}.",
                hint="It was written by another version, or by something else.",
            )
        for name in ("answer", "configuration"):
            if not isinstance(found[name], str):
                raise DataError(
                    f"A report's {name} must be text, got {_short(found[name])}.", hint=_HINT
                )
        return cls(found["configuration"], found["answer"])


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
