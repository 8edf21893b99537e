"""A folder of output: tried and held before anything is charged, there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from onesided.errors import OutputError
from onesided.store import held

_RESERVED: Final = ".reserved"


@dataclass(slots=True, kw_only=True)
class NewFolder:
    """A folder under a name of its own until :meth:`publish` gives it the asked one.

    >>> with new_folder("out") as folder:
    ...     written = (folder.partial / "a.txt").write_text("whole")
    ...     appeared = folder.publish()
    >>> appeared.name, (appeared / "a.txt").read_text()
    ('out', 'whole')
    """

    target: Path
    partial: Path
    published: bool = field(default=False, init=False)

    def reserve(self, size: int) -> None:
        """Take ``size`` bytes of the disk, so that a full one is found now. Errors: OutputError."""
        if not size:
            return
        try:
            with (self.partial / _RESERVED).open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            raise unwritable(self.target, error) from error

    def release(self) -> None:
        """Give back what was reserved: the files are about to take it."""
        (self.partial / _RESERVED).unlink(missing_ok=True)

    def publish(self) -> Path:
        """Let it appear, with all that is in it, in one step."""
        self.release()
        self.partial.rename(self.target)
        self.published = True
        return self.target


@contextmanager
def new_folder(out: str | Path, *, room: int = 0) -> Iterator[NewFolder]:
    """Make the folder ``out``, and its parents; unless it is published nothing of it stays.

    room: bytes that are set aside for it at once, see :meth:`NewFolder.reserve`.

    Errors: OutputError if something is called so already, even a link that leads nowhere, if
    another process is making it, or if it cannot be made or has no room.

    >>> with new_folder("never") as folder:
    ...     written = (folder.partial / "half.txt").write_text("half")
    >>> Path("never").exists()
    False
    """
    target = Path(out)
    with ExitStack() as stack:
        try:
            # Make the folders that are missing; those that stay empty go again.
            parent = target.absolute().parent
            missing = [one for one in (parent, *parent.parents) if not one.exists()]
            for one in reversed(missing):
                with suppress(FileExistsError):  # another process made it meanwhile
                    one.mkdir()
                    stack.callback(_remove_empty, one)
            _refuse_taken(target)
            stack.enter_context(held(target.with_name(f".{target.name}.lock")))
            _refuse_taken(target)  # the process that held it before may have made it
            partial = target.with_name(f".{target.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
            partial.mkdir()
        except BlockingIOError:
            raise OutputError(
                f"Another command is making the output folder {str(target)!r}.",
                hint="Wait for it, or choose another name.",
                path=str(target),
            ) from None
        except OSError as error:
            raise unwritable(target, error) from error
        stack.callback(shutil.rmtree, partial, ignore_errors=True)
        folder = NewFolder(target=target, partial=partial)
        folder.reserve(room)
        yield folder


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):  # it is not empty: the output is in it
        folder.rmdir()


def _refuse_taken(target: Path) -> None:
    if os.path.lexists(target):
        raise OutputError(
            f"The output folder {str(target)!r} exists already.",
            hint="Choose a new name, or remove it: published results are never overwritten.",
            path=str(target),
        )


def unwritable(target: Path, error: OSError, *, charged: bool = False) -> OutputError:
    """``error`` in words; once charged, with the way to the answer that is kept.

    >>> unwritable(Path("out"), OSError(28, "No space left on device")).reason
    "The output 'out' could not be written: No space left on device."
    """
    return OutputError(
        f"The output {str(target)!r} could not be written: {error.strerror or error}.",
        hint="The charge is in the ledger and the release is stored there: make room and ask "
        "again with the same id and again=True (--id, --again) to get the same answer "
        "at no charge; without an id it is lost."
        if charged
        else "Choose another place, or ask for the right to write there. Nothing was charged.",
        path=str(target),
    )
