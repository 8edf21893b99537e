"""What a monitor keeps, and the keys that its noise follows from."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field, replace
from typing import Final

from onesided.errors import TamperedLedgerError
from onesided.monitor._machine import Visits, plain_answer
from onesided.noise import KEY_BYTES
from onesided.store import canonical

# The chain of secret keys that a monitor's noise follows from, and what proves kept rows.
#
# ``k(s) = KDF(k(s-1), the rules, the batch's id, time and rows)``. Step s draws under a key made of
# k(s), and another one, from which nobody can go back, is kept for the next step. So the noise of a
# step depends on everything that its answer depends on: the same batches in the same order give the
# same answers after any crash or restored copy, and another batch, or another past, gives
# independent noise. One noise on two counts would tell their difference.

_ROWS: Final = b"onesided monitor rows, version 2"
_STEP: Final = b"onesided monitor step, version 2"
_NOISE: Final = b"onesided monitor noise, version 2"
_NEXT: Final = b"onesided monitor next key, version 2"


@dataclass(frozen=True, slots=True)
class StepKeys:
    """What step s draws under, and what is kept for the step after it."""

    noise: bytes = field(repr=False)
    following: bytes = field(repr=False)


def new_key() -> bytes:
    """A key that nobody can guess: k(0) of a monitor, or the secret that proves a batch's rows."""
    return secrets.token_bytes(KEY_BYTES)


def step_keys(key: bytes, batch: Visits, *, rules: str) -> StepKeys:
    """The keys of the step that takes in ``batch``, where ``key`` was kept by the step before."""
    rows = _mac(_mac(key, _ROWS), batch.digest())
    facts = canonical([rules, batch.id, batch.time]).encode()
    step = _mac(key, _STEP + rows + facts)
    return StepKeys(noise=_mac(step, _NOISE), following=_mac(step, _NEXT))


def proof_of(batch: Visits, *, secret: bytes) -> bytes:
    """What shows, to whoever has the secret, that these are the rows that were accepted."""
    return _mac(secret, canonical([batch.id, batch.time]).encode() + b"\n" + batch.digest())


def proves(proof: bytes, batch: Visits, *, secret: bytes) -> bool:
    """Whether ``proof`` is of this very batch."""
    return hmac.compare_digest(proof, proof_of(batch, secret=secret))


def _mac(key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, hashlib.sha256).digest()


# What a monitor keeps: a header, one row per step, and the secret rows still in the window.
#
# Whatever is written in one transaction is there as a whole or not at all, and writers take turns.


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What the state was made for. ``charge_id`` names its one charge in the ledger."""

    version: int
    config: str
    charge_id: str
    paid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One accepted batch and the answer that was published for it. Never changed."""

    number: int
    batch: str
    time: int
    clock: int
    accepted: str
    answer: bytes
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The secret half of a step: a batch's rows, with what proves them. Deleted when they expire.

    proof: of the rows, under a secret of this batch alone. Once the secret is gone with the rows,
    the proof of a guess at them cannot be computed.
    """

    number: int
    batch: str
    time: int
    content: bytes = field(repr=False)
    secret: bytes = field(repr=False)
    proof: bytes = field(repr=False)


def chained(step: Step, *, previous: str) -> Step:
    """``step`` with the head that follows from ``previous`` and everything published in it."""
    return replace(step, head=_head(step, previous))


def check_chain(step: Step, *, previous: str) -> None:
    """Errors: TamperedLedgerError if ``step`` does not follow ``previous``."""
    if step.head != _head(step, previous):
        raise TamperedLedgerError(
            f"step {step.number} of the monitor is not the one that was recorded.",
            hint="Stop publishing from this state. Restore a copy.",
            number=step.number,
        )


def _head(step: Step, previous: str) -> str:
    """A hash of public facts alone: whoever knows what was published can compute it."""
    facts = [step.number, step.batch, step.time, step.clock]
    body = f"{previous}\n{canonical(facts)}\n".encode()
    return hashlib.sha256(body + hashlib.sha256(plain_answer(step.answer)).digest()).hexdigest()
