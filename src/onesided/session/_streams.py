"""Streams of samples: the same units month after month, and what the ledger says of them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import narwhals as nw

from onesided._numbers import text
from onesided.errors import LedgerError, ParameterError
from onesided.mechanism import PersistentSample
from onesided.mechanism.kit import KEY_BYTES, KeyedCoins
from onesided.session._context import QueryContext
from onesided.store import canonical, plain_text

if TYPE_CHECKING:
    from onesided.session._stream_file import Head

STREAM: Final = "stream"  # in the detail of a charge
_LONGEST: Final = 100
_SAFE: Final = "Nothing was drawn and nothing was recorded."


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A stream as the question about one month finds it.

    place: its file. facts: what it was opened for. month: the number of the month that is to be
    told. opened: the entry that paid for all; None if this question does.
    """

    name: str
    place: Path
    sample: PersistentSample
    facts: str
    key: bytes = field(repr=False)
    month: int
    opened: int | None

    @property
    def detail(self) -> dict[str, object]:
        """The public facts that the ledger keeps of a month; of the key, a digest."""
        leaving = self.sample.attrition
        return {
            "name": self.name,
            "month": self.month,
            "attrition": None if leaving is None else text(leaving),
            "key": _digest(self.key),
        }

    @property
    def about(self) -> str:
        """What is promised, and what is not."""
        leaving = self.sample.attrition
        changes = (
            "A change of kind is NOT protected: whoever was in the sample and is gone is seen to "
            "be open no more."
            if leaving is None
            else f"Each unit also leaves for good with probability {text(leaving)} a month, which "
            "hides that one is open no more."
        )
        paid = "" if self.opened is None else f", paid for by entry {self.opened}"
        return (
            f"Month {self.month} of the stream {self.name!r}: the loss is of all months "
            f"together{paid}. {changes} Kinds are as the stream first met them."
        )

    def keep(
        self, units: Mapping[str, Sequence[Any]], others: Iterable[Any]
    ) -> dict[str, list[bool]]:
        """Which of the open units are told; what must be remembered is durable before it returns.

        units: by open kind. others: the table's units of other kinds; open ones may be among them.
        The order is: key, memory of the month, charge, rows. A process that is killed in between
        told nobody anything, and no coin falls in another way tomorrow.
        Errors: LedgerError where another process told this month.
        """
        from onesided.session._stream_file import Head, StreamFile  # noqa: PLC0415 - SQLAlchemy

        coins = KeyedCoins(self.key)
        marks = {kind: [coins.mark(_written(one)) for one in many] for kind, many in units.items()}
        kinds = dict.fromkeys((coins.mark(_written(one)) for one in others), "")
        kinds |= {mark: kind for kind, many in marks.items() for mark in many}

        def step(head: Head, inside: Mapping[bytes, bool]) -> Mapping[bytes, bool]:
            if head.key != self.key or head.month != self.month - 1:
                raise LedgerError(
                    f"The stream {self.name!r} was told by another process at the same time.",
                    hint=f"Ask again, which tells the month after. {_SAFE}",
                )
            return self.sample.step(inside, kinds, self.month, coins)

        if self.opened is None and not self.place.exists():
            StreamFile.make(self.place, Head(self.facts, self.key))
        inside = StreamFile.tell(self.place, step)
        shown = set(self.sample.shown(inside, kinds))
        return {kind: [mark in shown for mark in many] for kind, many in marks.items()}


def stream_of(context: QueryContext, name: str, sample: PersistentSample) -> Stream:
    """The stream, opened or to be opened. Looks at no row, and makes no file.

    Errors: ParameterError for what no stream can be of, or one opened with other terms;
    LedgerError where its file is gone, is another's, or is older than the ledger.
    """
    if not 0 < len(plain_text(name, name="stream")) <= _LONGEST:
        raise ParameterError(
            f"stream must have 1 to {_LONGEST} characters.", hint='Such as stream="opt-in-2026".'
        )
    place, facts = _place(context, name), _facts(context, sample)
    charged = (
        ()
        if context.ledger is None
        else context.ledger.entries(kind="spend", policy_id=context.policy.identity)
    )
    told = [
        (entry.number, held)
        for entry in charged
        if isinstance(held := entry.detail.get(STREAM), Mapping) and held.get("name") == name
    ]
    opened = told[0][0] if told else None
    if not place.exists():
        if told:
            raise LedgerError(
                f"The stream {name!r} has no key any more: {place} is gone.",
                hint="Restore it from a copy made after the last month; without it the stream has "
                f"ended, and another one has another name and price. {_SAFE}",
                stream=name,
            )
        key, month = secrets.token_bytes(KEY_BYTES), 1
    else:
        from onesided.session._stream_file import StreamFile  # noqa: PLC0415 - SQLAlchemy

        head = StreamFile.head_of(place)
        if head.facts != facts:
            raise ParameterError(
                f"The stream {name!r} was opened for another table, ε or attrition: {head.facts}.",
                hint=f"Ask with the same, which are not {facts}; or name another stream. {_SAFE}",
                stream=name,
            )
        key, month = head.key, head.month + 1
        last = max((int(str(held.get("month"))) for _, held in told), default=0)
        if any(held.get("key") != _digest(key) for _, held in told) or not month > last:
            raise LedgerError(
                f"{place} is older than the ledger, or another stream's: what it remembers of who "
                "left is not all that was told.",
                hint=f"Restore the copy made after month {last}, or name another stream. {_SAFE}",
                stream=name,
            )
    return Stream(
        name=name, place=place, sample=sample, facts=facts, key=key, month=month, opened=opened
    )


def _place(context: QueryContext, name: str) -> Path:
    """The file of a stream. Errors: ParameterError where there can be none."""
    unit = context.unit
    if unit is None:
        raise ParameterError(
            "A stream follows units through months, and each row is its own unit here.",
            hint='Name the column that says whose row it is: Session(..., unit="person").',
        )
    kind = context.schema[unit]
    if not kind.is_integer() and not isinstance(kind, nw.String):
        raise ParameterError(
            f"A stream's units are whole numbers or texts, and {unit!r} holds {kind}.",
            hint="Cast the column, in the same way each month.",
            column=unit,
        )
    beside = None if context.ledger is None else context.ledger.file
    if beside is None:
        raise ParameterError(
            "A stream's key lies in a file beside its ledger, and this ledger is in none.",
            hint='Give a ledger in a file: Session(..., ledger="ledger.db").',
        )
    told = hashlib.sha256(canonical([context.policy.identity, name]).encode()).hexdigest()
    return Path(f"{beside}.stream-{told[:16]}")


def _facts(context: QueryContext, sample: PersistentSample) -> str:
    """What one key serves, as text: a table, a policy and the chances of one stream."""
    return canonical(
        {
            "policy": context.policy.identity,
            "unit": context.unit,
            # 7 and "7" are two names: with the other all would be met anew.
            "names": "text"
            if isinstance(context.schema[str(context.unit)], nw.String)
            else "number",
            "data": "" if context.declared is None else context.declared.name,
            "columns": sorted(context.schema),
            "rates": {kind: text(one.rate) for kind, one in sample.samples.items()},
            "attrition": None if sample.attrition is None else text(sample.attrition),
        }
    )


def _written(unit: Any) -> bytes:
    """A unit's name: its type and its text. Total for whole numbers and texts."""
    if isinstance(unit, str):
        return b"t" + unit.encode("utf-8", "surrogatepass")
    return b"n" + str(int(unit)).encode()


def _digest(key: bytes) -> str:
    return hashlib.blake2b(b"", key=key, person=b"commitment", digest_size=16).hexdigest()
