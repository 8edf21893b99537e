"""The ledger's rows as one transaction sees them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Connection, Executable, bindparam, func, select

from onesided.ledger._rows import COLUMNS, OPEN, Row, intact, tampered
from onesided.ledger._schema import entries, payloads
from onesided.store.sqlite import wide

# Made once: building a statement costs more than running it.
_LAST: Final = select(entries).order_by(entries.c.number.desc()).limit(1)
_AT: Final = select(entries).where(entries.c.number == bindparam("at"))
_LATEST: Final = _LAST.where(entries.c.policy_id == bindparam("policy"))
_FIND: Final = select(entries).where(
    entries.c.policy_id == bindparam("policy"),
    entries.c.kind == bindparam("of_kind"),
    entries.c.release_id == bindparam("release"),
)
_PAGE_ROWS: Final = 1000
_PAGE_BYTES: Final = 2**24


class View:
    """What is on record at one moment. connection: None for a ledger that is not made yet."""

    def __init__(self, connection: Connection | None, *, seen: Row | None = None) -> None:
        self._connection = connection
        self._seen = seen
        self.tip: Row | None = None

    def last(self) -> Row | None:
        """The last row. It must be intact, and no row that this process saw may be gone."""
        if self.tip:
            return self.tip  # one transaction sees one last row
        found = self._one(_LAST)
        row = intact(found) if found else None
        seen = self._seen
        if seen is not None:
            there = row if row and row.number == seen.number else self.at(seen.number)
            if there is None or there.hash != seen.hash:
                raise tampered(seen.number, "this process saw another row there, or rows are gone")
        self.tip = row
        return row

    def at(self, number: int) -> Row | None:
        """The row of that number, unchecked."""
        return self._one(_AT, at=number)

    def openings(self) -> tuple[Row, ...]:
        """The rows that opened accounts, in order, checked. Looks at no other rows."""
        found, policy = [], self._next_policy(after=None)
        while policy is not None:
            row = self.find(policy_id=policy, kind=OPEN, release_id="")
            found += [row] if row else []
            policy = self._next_policy(after=policy)
        return tuple(sorted(found, key=lambda row: row.number))

    def latest(self, *, policy_id: str) -> Row | None:
        """The last row of that policy, checked."""
        found = self._one(_LATEST, policy=policy_id)
        return intact(found) if found else None

    def find(self, *, policy_id: str, kind: str, release_id: str) -> Row | None:
        """The one row of that policy, kind and release, checked."""
        found = self._one(_FIND, policy=policy_id, of_kind=kind, release=release_id)
        return intact(found) if found else None

    def rows(
        self,
        *,
        after: int = 0,
        last: int | None = None,
        policy_id: str | None = None,
        kind: str | None = None,
    ) -> Iterator[Row]:
        """Rows in order, unchecked, without holding them all.

        after: only those with a higher number. last: only so many, the latest.
        """
        query = select(entries)
        # A row that an edit gave the number 0 must be found by whoever reads all.
        query = query.where(entries.c.number > after) if after else query
        query = query.where(entries.c.policy_id == policy_id) if policy_id is not None else query
        query = query.where(entries.c.kind == kind) if kind is not None else query
        if last is None:
            ordered = query.order_by(entries.c.number).execution_options(yield_per=_PAGE_ROWS)
            yield from map(_row, self._all(ordered))
            return
        found = self._all(query.order_by(entries.c.number.desc()).limit(last))
        yield from [_row(values) for values in found][::-1]

    def extent(self) -> tuple[int, int, int]:
        """How many rows there are, the lowest number, and the highest; zeros for none."""
        number = entries.c.number
        query = select(func.count(), func.min(number), func.max(number)).select_from(entries)
        (found,) = list(self._all(query)) or [(0, 0, 0)]
        count, lowest, highest = (value or 0 for value in found)
        return count, lowest, highest

    def payload(self, charge: int) -> bytes | None:
        """The stored answer of that charge."""
        if self._connection is None:
            return None
        with wide(self._connection):
            query = select(payloads.c.content).where(payloads.c.charge == charge)
            return _content(self._connection.execute(query).scalar())

    def payload_digests(self) -> Iterator[tuple[int, str]]:
        """The charge of each stored answer and its SHA-256, "" if it is no answer at all.

        Holds answers of at most 16 MB at a time, or one.
        """
        number = payloads.c.charge
        sizes = list(self._all(select(number, func.length(payloads.c.content)).order_by(number)))
        start = 0
        while start < len(sizes) and self._connection is not None:
            end, held = start + 1, sizes[start][1] or 0
            while end < min(len(sizes), start + _PAGE_ROWS) and held < _PAGE_BYTES:
                held += sizes[end][1] or 0
                end += 1
            page = select(payloads).where(number.between(sizes[start][0], sizes[end - 1][0]))
            with wide(self._connection):
                found = self._connection.execute(page.order_by(number)).all()
            for charge, raw in found:
                content = _content(raw)
                yield charge, "" if content is None else hashlib.sha256(content).hexdigest()
            start = end

    def _next_policy(self, *, after: str | None) -> str | None:
        policy = entries.c.policy_id
        query = select(policy).order_by(policy).limit(1)
        found = list(self._all(query if after is None else query.where(policy > after)))
        return found[0][0] if found else None

    def _one(self, query: Executable, **values_of: object) -> Row | None:
        for values in self._all(query, values_of):
            return _row(values)
        return None

    def _all(
        self, query: Executable, values_of: Mapping[str, object] | None = None
    ) -> Iterator[Any]:
        if self._connection is None:
            return iter(())
        return iter(self._connection.execute(query, values_of or {}))


def _row(values: Any) -> Row:
    return Row(**dict(zip(COLUMNS, values, strict=True)))


def _content(raw: object) -> bytes | None:
    # psycopg may hand out a memoryview; an edited SQLite row may hold text.
    return bytes(raw) if isinstance(raw, bytes | memoryview) else None
