"""Deliberately wrong programs beside right ones. A verifier that accepts a wrong one sees nothing.

Nothing here is for use: these are the controls of ``onesided verify``, and material to test other
verifiers with. Each line holds the program (a function of data and noise, or an object with
``release``), the policy it is said to keep, its claim per edge, the universe it is tried in, and,
if it is broken, what is wrong with it and where that was seen.

>>> from onesided_proofs import zoo
>>> line = zoo.broken()[0]
>>> bool(line.flaw and line.seen), line.run().accepted
(True, False)
"""

from onesided.verify import Line, catalogue

__all__ = ["broken", "sound"]


def broken() -> list[Line]:
    """Every program that must be rejected, of all distributions that are installed.

    >>> broken()[0].sound
    False
    """
    return [line for line in catalogue() if not line.sound]


def sound() -> list[Line]:
    """Every program that must be accepted: a verifier that rejects all sees nothing either.

    >>> {bool(line.flaw) for line in sound()}
    {False}
    """
    return [line for line in catalogue() if line.sound]
