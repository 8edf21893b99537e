"""An engine's own errors as ours, with what became of the charge."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from onesided.errors import DataError, OnesidedError, first_line

BEFORE: Final = "Nothing was drawn and nothing was recorded."
STANDS: Final = "The charge stands, and nothing was drawn: ask for its answer again."
AFTER: Final = "The charge stands, and nothing was published."


@contextmanager
def reading(state: str = BEFORE) -> Iterator[None]:
    """Errors: DataError for whatever an engine says; KeyboardInterrupt for Ctrl-C.

    >>> with reading(AFTER):  # doctest: +ELLIPSIS
    ...     raise OSError("no such file")
    Traceback (most recent call last):
      ...
    onesided.errors.DataError: The table could not be read: no such file
    Hint: ... The charge stands, and nothing was published.
    """
    try:
        yield
    except OnesidedError:
        raise
    except BaseException as error:
        name = type(error).__name__
        if name == "InterruptException":
            raise KeyboardInterrupt from error  # DuckDB's word for Ctrl-C
        if not isinstance(error, Exception) and name != "PanicException":  # Polars' own
            raise
        raise DataError(
            f"The table could not be read: {first_line(error)}",
            hint="The file may be damaged or may have changed, or a column may not hold what it "
            f"should. {state}",
        ) from error
