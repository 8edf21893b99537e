"""Proof pages that know when they are stale.

Each page of docs/proofs starts with one line ``proves: NAME HASH`` for every function that it is
about; the hash is of the function's source as it was when somebody last checked the proof.

    python -m onesided_proofs.pages docs/proofs             which pages are stale
    python -m onesided_proofs.pages docs/proofs --refresh   after the proof was checked again
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from onesided.errors import ParameterError

_LINE: Final = re.compile(r"^proves:\s*(?P<name>\S*)[ \t]*(?P<hash>.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Proof:
    """One function that a page proves, the hash in its header, and the one it has now."""

    page: Path
    name: str
    checked: str
    current: str

    @property
    def stale(self) -> bool:
        """Whether the function was changed since its proof was checked."""
        return self.checked != self.current


def proofs(folder: Path) -> list[Proof]:
    """Every ``proves:`` line of every page. Errors: ParameterError for a page without one."""
    found = [proof for page in sorted(folder.glob("*.md")) for proof in _of_page(page)]
    if not found:
        raise ParameterError(
            f"There are no proof pages in {folder}.", hint="Give the folder docs/proofs."
        )
    return found


def refresh(folder: Path) -> list[Proof]:
    """Write today's hashes into the headers; give back what had been stale."""
    stale = [proof for proof in proofs(folder) if proof.stale]
    for proof in stale:
        text = proof.page.read_text(encoding="utf-8")
        line = f"proves: {proof.name} {proof.current}"
        pattern = rf"^proves: {re.escape(proof.name)}( .*)?$"
        proof.page.write_text(re.sub(pattern, line, text, flags=re.MULTILINE), encoding="utf-8")
    return stale


def source_hash(name: str) -> str:
    """The hash of a function, class or property by its dotted name; its docstring counts too."""
    source = textwrap.dedent(inspect.getsource(_resolve(name)))
    lines = [line.rstrip() for line in source.splitlines()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _of_page(page: Path) -> Iterator[Proof]:
    matches = list(_LINE.finditer(page.read_text(encoding="utf-8")))
    if not matches:
        raise ParameterError(
            f"{page.name} does not say what it proves.",
            hint="Start it with a line such as: proves: onesided.mechanism.Counts.noisy -",
        )
    for match in matches:
        yield Proof(page, match["name"], match["hash"].strip() or "-", source_hash(match["name"]))


def _resolve(name: str) -> Any:
    """The object behind ``package.module.Class.method``."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        try:
            for part in parts[cut:]:
                found = inspect.getattr_static(found, part)
        except AttributeError:
            break
        if isinstance(found, classmethod | staticmethod):
            return found.__func__
        if isinstance(found, cached_property):
            return found.func
        return found.fget if isinstance(found, property) else found
    raise ParameterError(
        f"There is no {name!r} any more.", hint="Correct the page's proves: line, or remove it."
    )


def main(arguments: Sequence[str]) -> int:
    """Print what is stale; with ``--refresh`` write the new hashes. 1 if anything was stale."""
    folder = Path(next((a for a in arguments if not a.startswith("-")), "docs/proofs"))
    stale = refresh(folder) if "--refresh" in arguments else [p for p in proofs(folder) if p.stale]
    for proof in stale:
        sys.stdout.write(f"{proof.page}: {proof.name} changed ({proof.checked} {proof.current})\n")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
