"""The same key and the same batches give the answers that they always gave.

The heads below were recorded when batches were tuples of Python; a head is a hash of all that was
published up to its step.
"""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from onesided import Monitor, policy
from onesided.monitor import _monitor

KEY = bytes(range(32))
NAMES = ["Ann", "ann", "Änn", "Z\x00", "Z", '"', "\\", "a\nb", "日本", "𝒳", "\ue000", "", " Ann"]
START = dt.datetime(2026, 11, 21, 7, tzinfo=dt.UTC)


@pytest.fixture
def opened(monkeypatch):
    def open_(keys, **given):
        monkeypatch.setattr(_monitor, "new_key", lambda: KEY)
        rules = {"at_most": 2, "window": 6, "epsilon": 2, "policy": policy.presence(max_groups=1)}
        return Monitor(keys, **(rules | given))

    return open_


def few(dice, most, size):
    """Numbers below ``most``, the small ones more often, by every version of NumPy."""
    return dice.integers(0, most, size) * dice.integers(0, most, size) // most


def whole_numbers(opened):
    """Late batches, empty ones, times of their own, persons beyond 64 bits beside small ones."""
    monitor, dice = opened(range(300), charges=2), np.random.default_rng(7)
    for step in range(12):
        at = step + int(dice.integers(-2, 2)) + 5
        size = int(dice.integers(0, 400))
        batch = {
            "person": dice.integers(-50, 90, size).tolist(),
            "place": few(dice, 300, size),
            "time": at - dice.integers(0, 4, size),
        }
        if size and step % 3 == 0:
            batch["person"][: size // 2] = [2**70 + p for p in batch["person"][: size // 2]]
        monitor.step(batch if step % 5 else None, id=f"{step}", time=at)
    return monitor


def text(opened):
    """Text that sorts, escapes and encodes in its own ways; the same visits more than once."""
    monitor, dice = opened(["a", "b", "ü", "A"], window="2h", epsilon=1), np.random.default_rng(3)
    for step in range(8):
        size = int(dice.integers(0, 60))
        at = START + dt.timedelta(minutes=25 * step)
        batch = {
            "person": [NAMES[i] for i in dice.integers(0, len(NAMES), size)],
            "place": [["a", "b", "ü", "A"][i] for i in few(dice, 4, size)],
            "time": [at - dt.timedelta(seconds=int(s)) for s in dice.integers(0, 9000, size)],
        }
        frame = pl.DataFrame(batch) if size and step % 2 else batch
        monitor.step(frame, id=f"b{step}", time=at)
    return monitor


def designated(opened):
    """One designated time with a limit of answers: times of rows do not matter."""
    monitor = opened([10, 20, 2**40], window=None, max_answers=3, at_most=[0, 1, 2])
    monitor.step({"person": [1, 2, 1], "place": [10, 20, 10]}, id="one")
    monitor.step({"person": [2**63, 5], "place": [2**40, 2**40], "time": ["?", None]}, id="two")
    return monitor


@pytest.mark.parametrize(
    ("stream", "head"),
    [
        (whole_numbers, "58ef167f55aa93593c7e298cce94d0df8a1cf6a48231206e0d086daeb37b788c"),
        (text, "bff185edbcb564bfafd653ec9ee0f44cd8ebdf4093f2d555ac5468cd3d59c035"),
        (designated, "401f833e8d22fe66ed50c44cd8da7e7ddc058c659e5e92193ac7e140794e6401"),
    ],
)
def test_the_heads_are_those_of_before(opened, stream, head):
    monitor = stream(opened)
    assert monitor.last.head == head
    assert monitor.check() == monitor.last.number
