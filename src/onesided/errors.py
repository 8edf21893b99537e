"""Every error this library raises on purpose.

    OnesidedError
    ├── ParameterError            an invalid number or option (also a ValueError)
    │   └── SqlError              a query that is not in the grammar of docs/sql.md
    ├── PolicyError               a policy that is malformed or cannot be read (also a ValueError)
    │   ├── ConditionError        a condition that is not in the language of conditions
    │   └── UnprotectableError    the query would need infinite loss under the policy
    ├── SchemaError               a schema that is malformed or does not fit (also a ValueError)
    ├── DataError                 the table does not fit the question (also a ValueError)
    │   ├── UnknownColumnError    a column that is not in the table
    │   ├── KeysError             missing, duplicate or null public keys
    │   └── ContributionError     a unit exceeds the bound that the curator asserted
    ├── NoiseError                randomness could not be had, or does not fit its integer type
    ├── LedgerError               the record of spending
    │   ├── BudgetExceededError   refused; nothing was drawn and nothing was recorded
    │   ├── ReleaseExistsError    an id that was charged before; its answer may be about other data
    │   ├── PolicyMismatchError   the ledger was opened for another policy, budget or unit
    │   ├── LedgerFormatError     not a ledger of ours, damaged, or written by a newer version
    │   ├── TamperedLedgerError   the hash chain does not hold
    │   └── LedgerUnavailableError  the store could not be read or written
    ├── ServiceError              a server refused, or could not be reached
    ├── OutputError               the place where results should go cannot be used
    ├── PluginError               what another distribution adds cannot be used
    └── MissingDependencyError    an optional package is not installed (also an ImportError)

Each carries ``reason`` (what is wrong, with the offending value), ``hint`` (what to do next)
and ``values`` (the numbers, for programs).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from inspect import Parameter, Signature, signature
from typing import TypeVar

Made = TypeVar("Made")


class OnesidedError(Exception):
    """Base of all errors raised on purpose; ``str()`` gives the reason and the next step."""

    def __init__(self, reason: str, *, hint: str = "", **values: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
        self.values = values

    def __str__(self) -> str:
        return f"{self.reason}\nHint: {self.hint}" if self.hint else self.reason

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.reason, self.hint, self.values)


def first_line(error: BaseException) -> str:
    """What another library's error says, without its plans and carets; its class if nothing."""
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__


def called(function: Callable[..., Made], /, *args: object, **kwargs: object) -> Made:
    """``function`` of these arguments. Errors: ParameterError where they do not fit it."""
    takes = _signature(function)
    try:
        takes.bind(*args, **kwargs)
    except TypeError as error:
        each = takes.parameters.values()
        named = [one for one in each if one.kind is not Parameter.VAR_KEYWORD]
        needed = ", ".join(one.name for one in named if one.default is Parameter.empty)
        others = ", ".join(one.name for one in named if one.default is not Parameter.empty)
        name = getattr(function, "__qualname__", str(function))
        raise ParameterError(
            f"{name}: {error}.",
            hint=f"It needs {needed or 'nothing'}; it can take {others or 'nothing else'}. "
            f"help({name}) says what they are.",
        ) from None
    return function(*args, **kwargs)


@lru_cache(maxsize=256)
def _signature(function: Callable[..., object]) -> Signature:
    """What a function takes, worked out once."""
    return signature(function)


def _rebuild(
    kind: type[OnesidedError], reason: str, hint: str, values: dict[str, object]
) -> OnesidedError:
    """Remake an error that crossed a process boundary."""
    return kind(reason, hint=hint, **values)


class ParameterError(OnesidedError, ValueError):
    """An invalid number or option."""


class PolicyError(OnesidedError, ValueError):
    """A policy that is malformed or cannot be read."""


class ConditionError(PolicyError):
    """A condition that is not in the language of conditions; ``place`` is its offset there."""


class SqlError(ParameterError):
    """A query that is not in the grammar of docs/sql.md; ``place`` is its offset there."""


class SchemaError(OnesidedError, ValueError):
    """A schema that is malformed or does not fit."""


class UnprotectableError(PolicyError):
    """No finite amount of this mechanism's noise can keep the policy."""


class DataError(OnesidedError, ValueError):
    """The table does not fit the question."""


class UnknownColumnError(DataError):
    """A column that is not in the table."""


class KeysError(DataError):
    """Missing, duplicate or null public keys."""


class ContributionError(DataError):
    """A unit exceeds the bound that the curator asserted."""


class NoiseError(OnesidedError):
    """Randomness could not be had, or does not fit its integer type."""


class LedgerError(OnesidedError):
    """Something about the record of spending."""


class BudgetExceededError(LedgerError):
    """The release was refused; nothing was drawn and nothing was recorded."""


class ReleaseExistsError(LedgerError):
    """The release id was charged before; ``values["state"]`` says what became of it.

    "stored": its answer is there. "lost": there is a charge and no answer. "other": it was for
    another question. "charged": one of these, found while charging. ``values["drawn"]`` is when.
    """


class PolicyMismatchError(LedgerError):
    """The ledger was opened for another policy, budget or unit."""


class LedgerFormatError(LedgerError):
    """Not a ledger of ours, damaged, or written by a newer version."""


class TamperedLedgerError(LedgerError):
    """The hash chain does not hold."""


class LedgerUnavailableError(LedgerError):
    """The store could not be read or written."""


class ServiceError(OnesidedError):
    """A server refused for a reason of its own, or could not be reached."""


class OutputError(OnesidedError):
    """The place where results should go cannot be used."""


class PluginError(OnesidedError):
    """What another distribution adds cannot be loaded, or is not what its place asks for."""


class MissingDependencyError(OnesidedError, ImportError):
    """An optional package is not installed."""
