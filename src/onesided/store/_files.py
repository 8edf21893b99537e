"""Files that hold rows, keys or charges: made for their owner alone, whatever the umask."""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path
from typing import Final

PRIVATE: Final = 0o600
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class PermissionsWarning(UserWarning):
    """A file that should be its owner's alone can be read or written by others.

    >>> import warnings
    >>> path = Path("open.db")
    >>> path.touch()
    >>> path.chmod(0o644)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     tell_if_open_to_others(path, noun="The ledger")
    >>> caught[0].category is PermissionsWarning
    True
    """


def make_private(path: Path) -> None:
    """Make an empty file that only its owner can read and write. Errors: OSError if it exists."""
    # The mode is given when the file is made, so that there is no moment at which others can open
    # it. A umask can only take rights away; the change that follows gives the owner's back.
    handle = os.open(
        path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), PRIVATE
    )
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(handle, PRIVATE)
    finally:
        os.close(handle)


def tell_if_open_to_others(path: Path, *, noun: str) -> None:
    """Warn (:class:`PermissionsWarning`) if ``path`` is open to more than its owner.

    Changes nothing: the owner may have meant it, and a file that was readable may have been read.

    >>> path = Path("ledger.db")
    >>> path.touch(mode=0o600)
    >>> tell_if_open_to_others(path, noun="The ledger")
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return
    if os.name == "posix" and mode & _OTHERS:
        warnings.warn(
            f"{noun} {path} is open to others than its owner (mode {mode:03o}). "
            f"Close it: chmod 600 {path}",
            PermissionsWarning,
            stacklevel=2,
        )
