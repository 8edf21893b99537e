"""Generators of numpy's that a program made before: their draws cannot be refused, but are seen."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

import numpy as np

from onesided.errors import ParameterError
from onesided.verify._form import Form, form

_DEEP: Final = 6
_MOST: Final = 20_000
# Kept by other names: while another check is under way, numpy's own lead to refusals.
_LEGACY: Final = np.random.RandomState
_KINDS: Final = (np.random.Generator, _LEGACY, np.random.BitGenerator)


@contextmanager
def undrawn(program: object) -> Iterator[None]:
    """Nothing is drawn from a generator that ``program`` can reach while this is open.

    Methods of numpy's generators are compiled, and no watch sees their calls; what they draw
    moves their state. A generator is reached by what the program holds, by the module that it is
    written in, or it is numpy's own. Errors: ParameterError.

    >>> generator = np.random.default_rng(1)
    >>> with undrawn(lambda data, noise: generator):
    ...     pass
    """
    # Only the ones that are there now: those made during a run are refused as they are made.
    before = [(one, _state(one)) for one in _reached(program)]
    yield
    for one, state in before:
        if _state(one) != state:
            raise ParameterError(
                f"The program drew from a numpy {type(one).__name__} while it was enumerated, "
                "which no enumeration can see.",
                hint="The program must take all of its chance from the noise it is given.",
            )


def _reached(program: object) -> Iterator[Any]:
    seen: set[int] = set()
    level: list[Any] = [program, type(program), np.random.mtrand._rand]  # noqa: SLF001 - numpy's own
    for _ in range(_DEEP):
        following: list[Any] = []
        for one in level:
            if id(one) in seen or isinstance(one, ModuleType) or len(seen) > _MOST:
                continue
            seen.add(id(one))
            if isinstance(one, _KINDS):
                yield one
            else:
                following += gc.get_referents(one)
        level = following


def _state(generator: Any) -> Form:
    if isinstance(generator, _LEGACY):
        return form(generator.get_state(legacy=False))
    bits = getattr(generator, "bit_generator", generator)
    return form(bits.state)
