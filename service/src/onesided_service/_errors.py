"""What a response says went wrong: from the request and public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from onesided.errors import (
    BudgetExceededError,
    DataError,
    LedgerError,
    OnesidedError,
    ParameterError,
    PolicyError,
    ReleaseExistsError,
    SchemaError,
)
from onesided.numbers import Infinite, text

_SHOWN: Final = 200
_STATUS: Final[tuple[tuple[type[OnesidedError], int], ...]] = (
    (BudgetExceededError, 403),
    (ReleaseExistsError, 409),
    (LedgerError, 503),
    (ParameterError, 422),
    (PolicyError, 422),
    (SchemaError, 422),
    (DataError, 422),
)


class ServiceError(Exception):
    """A refusal with its status. type: a word for programs; values: public facts."""

    def __init__(
        self,
        status: int,
        type: str,  # noqa: A002 - what the document calls it
        message: str,
        *,
        hint: str = "",
        **values: object,
    ) -> None:
        super().__init__(message)
        self.status, self.type, self.hint, self.values = status, type, hint, values

    def __reduce__(self) -> tuple[object, ...]:
        own = self.status, self.type, str(self), self.hint, self.values
        return _again, own

    def document(self) -> dict[str, Any]:
        """The error as JSON."""
        return {
            "error": {
                "type": self.type,
                "message": str(self),
                "hint": self.hint,
                "values": {name: _plain(value) for name, value in self.values.items()},
            }
        }


def _again(status: int, kind: str, message: str, hint: str, values: Any) -> ServiceError:
    return ServiceError(status, kind, message, hint=hint, **values)


def told(error: OnesidedError) -> ServiceError:
    """An error of the library that was raised before any row was read."""
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 400)
    if status == 503:
        # A store that cannot be reached; the log says why.
        message = "The service cannot reach its records."
        return ServiceError(503, "Unavailable", message, hint="Try again later.")
    name = type(error).__name__
    return ServiceError(status, name, error.reason, hint=error.hint, **error.values)


def not_found() -> ServiceError:
    """What is not there, or not for this person: both are told alike."""
    return ServiceError(404, "NotFound", "There is no such thing here, or you may not see it.")


def closed(dataset: str) -> ServiceError:
    """A dataset that the curator has to look at."""
    return ServiceError(
        503,
        "DatasetClosed",
        f"The dataset {dataset!r} is closed.",
        hint="Its curator can reopen it. A question that was charged keeps its answer.",
        dataset=dataset,
    )


def unstarted(what: str = "reads rows") -> ServiceError:
    """A process that is not there: nothing is asked of it, and nothing charged."""
    return ServiceError(
        503,
        "Unstarted",
        f"The process that {what} does not run. Nothing was charged.",
        hint="Ask later; the service's log says why.",
    )


def lost(ask: str) -> ServiceError:
    """A question whose answer was late."""
    return ServiceError(
        410,
        "Lost",
        "This question was not answered in time. Its answer is lost; its charge stands.",
        hint="Ask anew, under another id.",
        ask=ask,
    )


def _plain(value: object) -> Any:
    """Public facts as JSON."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Fraction | Infinite):
        return text(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(part) for part in value][:_SHOWN]
    return str(value)[:_SHOWN]
