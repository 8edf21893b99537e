"""Few of many: rows of a product in which all pairs occur, and answers drawn from one reading.

And many in one: a test that runs over thousands of cases, each too short to be one of its own.
"""

from itertools import combinations

import pytest

from onesided.session.kit import prepared


def covering(rows):
    """These rows as parameters: few that hold every pair of values of two places; --slow all."""
    told = [tuple(map(repr, row)) for row in rows]
    pairs = [set(combinations(enumerate(row), 2)) for row in told]
    missing, picked = set().union(*pairs), set()
    while missing:
        best = max(range(len(rows)), key=lambda at: len(pairs[at] & missing))
        picked.add(best)
        missing -= pairs[best]
    rest = pytest.mark.only_slow
    return [pytest.param(*r, marks=() if at in picked else rest) for at, r in enumerate(rows)]


def drawn(session, question, times, noise=None):
    """The answers to so many of a question, drawn from one reading; none is charged."""
    steps = prepared(session, question)
    secret = steps.read()
    return [steps.result(steps.draw(secret, noise), None) for _ in range(times)]


def each(cases):
    """One test of all of these, names and arguments; it tells all that fail."""

    def whole(check):
        def test():
            failed = []
            for name, given in cases.items():
                try:
                    check(*given)
                except Exception as error:  # noqa: BLE001 - told below
                    error.add_note(f"in {name}")
                    failed.append(error)
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(cases)} fail", failed)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return whole
