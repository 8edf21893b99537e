"""What checks, clients and servers need of questions beside asking them."""

from typing import Any

from onesided._english import pointed
from onesided.session._arithmetic import Interval, Row, Sum, tightest
from onesided.session._asks import QUESTIONS, Asks
from onesided.session._count import with_delta
from onesided.session._gaussian import kept_pure
from onesided.session._groups import Groups
from onesided.session._json import required
from onesided.session._plan import free_sample, offered
from onesided.session._question import PreparedQuery, require_question
from onesided.session._recall import kept, read_for, refuse_asserting
from onesided.session._release import frame_of
from onesided.session._session import Session
from onesided.session.sql._questions import (
    IN_SQL,
    QUERIES,
    explains,
    question_of,
    refuse_changed,
    sql_of,
)
from onesided.session.values._noisy_max import Shares
from onesided.session.values._quantile import Cumulated
from onesided.session.values._ratio import quotients
from onesided.session.values._shifts import Moved, one_value, value_shifts
from onesided.session.values._sum import SumNoise
from onesided.session.workloads._linear import corners

__all__ = [
    "IN_SQL", "QUERIES", "QUESTIONS", "Asks", "Cumulated", "Groups", "Interval", "Moved", "Row",
    "Shares", "Sum", "SumNoise", "corners", "explains", "frame_of", "free_sample", "kept_pure",
    "offered", "one_value", "pointed", "prepared", "question_of", "quotients", "read_ahead",
    "refuse_asserting", "refuse_changed", "rehearse", "require_question", "required", "sql_of",
    "tightest", "value_shifts", "with_delta",
]  # fmt: skip


def prepared(session: Session, question: Any) -> PreparedQuery[Any, Any]:
    """A question in the steps that a session takes it through, none of which is taken.

    >>> import polars as pl, onesided as od
    >>> rows, policy = pl.DataFrame({"person": [1, 2]}), od.policy.addition_only()
    >>> session = od.Session(rows, unit="person", policy=policy, budget=9)
    >>> prepared(session, od.Count(epsilon=1)).read().tolist(), sum(session.spent.values())
    ([2], Fraction(0, 1))
    """
    own = session
    return own._prepared(own._completed(question), own._context())  # noqa: SLF001 - same package


def rehearse(session: Session, question: Any) -> None:
    """Take every step but the charge, and forget what was drawn. Errors: as answering it.

    For sessions over tables without rows: what fails here fails on any rows.

    >>> import polars as pl, onesided as od
    >>> rows, policy = pl.DataFrame({"person": []}, {"person": int}), od.policy.addition_only()
    >>> session = od.Session(rows, unit="person", policy=policy, budget=9)
    >>> rehearse(session, od.Count(epsilon=1)), sum(session.spent.values())
    (None, Fraction(0, 1))
    """
    steps = prepared(session, question)
    answer = steps.draw(steps.read(), None)
    kept(steps, answer)
    steps.result(answer, None)


def read_ahead(session: Session, question: Any) -> None:
    """Read now for a charged question, whose answer is then drawn from what was read.

    Errors: those of reading the data.

    >>> import polars as pl, onesided as od
    >>> rows, policy = pl.DataFrame({"person": [1, 2]}), od.policy.addition_only()
    >>> session = od.Session(rows, unit="person", policy=policy, budget=9)
    >>> monday = od.Count(epsilon=1, id="monday", again=True)
    >>> session.charge(monday).number, read_ahead(session, monday)
    (2, None)
    >>> bool(session.answer(monday).upper[0] >= 2)  # certain
    True
    """
    session._held[str(question.id)] = read_for(prepared(session, question))  # noqa: SLF001
