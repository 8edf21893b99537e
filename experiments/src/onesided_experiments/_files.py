"""Where the user's data sets are."""

from __future__ import annotations

from pathlib import Path


def locate(data: Path | None, folder: str, *names: str) -> Path | None:
    """The first file of one of these names under ``data/folder`` or ``data``, if there is one."""
    if data is None:
        return None
    places = (where / name for name in names for where in (data / folder, data))
    return next((path for path in places if path.is_file()), None)
