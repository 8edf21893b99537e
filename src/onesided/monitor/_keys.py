"""The chain of secret keys that a monitor's noise follows from, and what proves kept rows.

``k(s) = KDF(k(s-1), the rules, the batch's id, time and rows)``. Step s draws under a key made of
k(s), and another one, from which nobody can go back, is kept for the next step. So the noise of a
step depends on everything that its answer depends on: the same batches in the same order give the
same answers after any crash or restored copy, and another batch, or another past, gives
independent noise. One noise on two counts would tell their difference.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

from onesided.monitor._supply import Visits
from onesided.noise import KEY_BYTES
from onesided.store import canonical

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
