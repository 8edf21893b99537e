"""A source of noise as a mechanism of someone's own sees it."""

from __future__ import annotations

from typing import Any, Final, final

from onesided.noise._protocol import Noise

_DRAWS: Final = (
    "geometric",
    "two_sided",
    "bernoulli",
    "bernoulli_exp",
    "uniform",
    "permutation",
    "permute_and_flip",
)


@final
class PlainNoise:
    """The draws of a source and nothing else, of one class whatever the source.

    So what a mechanism meets while it is checked is what it meets when it answers.

    >>> from onesided.noise import NotPrivateSeededNoise, SecureNoise
    >>> type(PlainNoise(SecureNoise())) is type(PlainNoise(NotPrivateSeededNoise(1)))
    True
    >>> len(PlainNoise(SecureNoise()).geometric(1, 3))
    3
    """

    __slots__ = _DRAWS

    geometric: Any
    two_sided: Any
    bernoulli: Any
    bernoulli_exp: Any
    uniform: Any
    permutation: Any
    permute_and_flip: Any

    def __init__(self, source: Noise) -> None:
        for name in _DRAWS:
            setattr(self, name, getattr(source, name))
