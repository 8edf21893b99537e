"""What every question has in common: how it is asked, charged, drawn, kept and told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar

import numpy as np

from onesided.errors import LedgerFormatError, called
from onesided.noise import Noise
from onesided.session._context import QueryContext
from onesided.session._plan import Plan

if TYPE_CHECKING:
    from onesided.session._session import Session

CONTENT_TYPE: Final = "application/vnd.onesided.answer+json"

Answer = Mapping[str, Any]
Secret = TypeVar("Secret")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)
P = ParamSpec("P")


class Question(Protocol[Result_co]):
    """A question as a value. ``id`` names its answer in the ledger; None keeps no name."""

    @property
    def id(self) -> str | None:
        """Asking again with the same id re-reads the answer at no charge."""
        ...

    def prepare(self, context: QueryContext) -> PreparedQuery[Any, Result_co]:
        """Check and price the question. Looks at no row."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedQuery(Generic[Secret, Result_co]):
    """A question that passed every check, in the steps a session takes it through.

    label, detail: what the ledger calls it, and its public facts. about: what else must be the
    same for a stored answer to be an answer to it, such as keys and rates.
    read: looks at the rows, and raises before anything is charged. draw: adds the noise.
    result: makes the release of an answer, drawn or stored, and its number in the ledger.
    """

    label: str
    detail: Mapping[str, object]
    plan: Plan
    read: Callable[[], Secret]
    draw: Callable[[Secret, Noise | None], Answer]
    result: Callable[[Answer, int | None], Result_co]
    about: Mapping[str, object] = field(default_factory=dict)

    def encode(self, answer: Answer) -> bytes:
        """What the ledger keeps: the answer, and what it is an answer to."""
        parts = {
            name: part.tolist() if isinstance(part, np.ndarray) else part
            for name, part in answer.items()
        }
        payload = {"about": {**self.about, **self.detail}, "answer": parts}
        return json.dumps(payload, separators=(",", ":")).encode()

    def decode(self, payload: bytes) -> Answer:
        """The stored answer, if it is one to this very question.

        Errors: LedgerFormatError if it answers another one.
        """
        stored = json.loads(payload)
        same = json.loads(json.dumps({**self.about, **self.detail}))
        if "answer" not in stored or stored.get("about") != same:
            raise LedgerFormatError(
                "The release stored under this id answers another question.",
                hint="Ask exactly the same again, or use another id.",
            )
        answer: Answer = stored["answer"]
        return answer


def query_method(
    question: Callable[P, Question[Result]],
) -> Callable[Concatenate[Session, P], Result]:
    """A session's method that asks a question of this class; its arguments are the question's."""

    def ask(session: Session, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        return session.ask(called(question, *args, **kwargs))

    ask.__doc__ = question.__doc__
    ask.__wrapped__ = question  # type: ignore[attr-defined] # so that help() shows the arguments
    return ask
