"""People, their roles and their tokens. A token is 256 random bits, kept as a hash alone."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from sqlalchemy import delete, insert, select, update

from onesided.errors import ParameterError
from onesided.numbers import Number, non_negative, text
from onesided.store import now, plain_text
from onesided_service._border import plain_line
from onesided_service._errors import ServiceError
from onesided_service._store import (
    State,
    allowances,
    asks,
    kept,
    logged,
    people,
    put_if_absent,
    roles,
    tokens,
)

CURATOR: Final = "curator"
ANALYST: Final = "analyst"
SENDER: Final = "sender"
ROLES: Final = (CURATOR, ANALYST, SENDER)
EVERY: Final = "*"
COOKIE_HOURS: Final = 12
_START: Final = "os1"
_LONGEST: Final = 200
# What is compared where there is no such token, so that both ways take the same steps.
_NOBODY: Final = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who proved who they are. roles: dataset, or "*" for every one, to their roles."""

    name: str
    roles: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def may(self, role: str, dataset: str) -> bool:
        """Whether they have the role; a curator asks like an analyst, too."""
        held = self.roles.get(dataset, frozenset()) | self.roles.get(EVERY, frozenset())
        return role in held or (role == ANALYST and CURATOR in held)

    def sees(self, dataset: str) -> bool:
        """Whether the dataset is there for them."""
        return self.may(ANALYST, dataset)

    def told(self) -> dict[str, list[str]]:
        """The roles as JSON."""
        return {dataset: sorted(held) for dataset, held in sorted(self.roles.items())}


class People:
    """Who may do what, in the service's state.

    >>> state = State.open("service.db")
    >>> token = People(state).add("ann", {"visits": ["analyst"]}, days=90)
    >>> len(token), token[:4]
    (85, 'os1_')
    >>> state.close()
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def add(
        self, name: str, given: Mapping[str, Sequence[str]], *, days: int, by: Person | None = None
    ) -> str:
        """Add a person with roles by dataset; returns the token, which is never shown again.

        A person who is there gets the roles added, and a further token; their earlier ones open
        what is added, too. by: the curator who does so; None for the operator. A curator gets no
        token of a person who is there, else it might open another's dataset; and adds a dataset
        only where all that the person has is theirs, else another's token might open it. Errors:
        ServiceError; ParameterError, also for the name of somebody who was removed: their answers
        would be told to another.
        """
        who = plain_line(name, name="the person's name", empty=False)
        if len(who) > _LONGEST or who != who.strip():
            raise ParameterError(f"{who[:_LONGEST]!r} is no name.", hint="Use a short plain name.")
        _refuse_unknown(given)
        token, adder = _new_token(), "" if by is None else by.name
        with self._state.write() as connection:
            anew = not _is_there(connection, who)
            if anew:
                _refuse_taken(connection, who)
                _forget(connection, who)  # nothing of an earlier one of that name comes alive
                connection.execute(insert(people).values(person=who, added=now()))
            elif by is not None and (beyond := given.keys() - self._datasets_of(connection, who)):
                self._require_own(connection, who, by, f"has no role in {min(beyond)!r} yet")
            for dataset, held in given.items():
                rows = [{"person": who, "dataset": dataset, "role": role} for role in held]
                if more := [row["role"] for row in rows if put_if_absent(connection, roles, row)]:
                    told = {"subject": who, "text": ", ".join(more)}
                    logged(connection, "add", by=adder, dataset=dataset, **told)
            if not anew and by is not None:
                return ""
            connection.execute(insert(tokens).values(**_kept(token, who, "token", days * 24)))
        return token

    def remove(self, name: str, *, by: str = "") -> None:
        """Take away a person's roles and tokens at once; charges stay. Errors: ParameterError."""
        with self._state.write() as connection:
            _require(connection, name)
            for dataset in self._datasets_of(connection, name):
                logged(connection, "remove", by=by, dataset=dataset, subject=name)
            _forget(connection, name)

    def revoke(self, name: str, dataset: str, *, by: str = "") -> None:
        """Take away a person's roles in one dataset; who has none left is removed. Twice is fine.

        Errors: ServiceError where a role for all datasets would remain.
        """
        with self._state.write() as connection:
            held = self._datasets_of(connection, name)
            if dataset != EVERY and EVERY in held:
                raise ServiceError(
                    409,
                    "ForAll",
                    f"{name!r} has a role for all datasets.",
                    hint=f"Use the command: onesided people remove {name}.",
                )
            if dataset not in held:
                return
            for table in (roles, allowances):
                own = table.c.person == name, table.c.dataset == dataset
                connection.execute(delete(table).where(*own))
            logged(connection, "revoke", by=by, dataset=dataset, subject=name)
            if held == {dataset}:
                _forget(connection, name)

    def rotate(self, name: str, *, days: int, by: Person | None = None) -> str:
        """Revoke all tokens of a person and make a new one. Errors: ParameterError.

        by: the curator who does so: only where all that the token opens is theirs, too. Errors:
        ServiceError.
        """
        token, who = _new_token(), "" if by is None else by.name
        with self._state.write() as connection:
            _require(connection, name)
            if by is not None:
                self._require_own(connection, name, by, "may have a new token")
            for dataset in self._datasets_of(connection, name):
                logged(connection, "rotate", by=who, dataset=dataset, subject=name)
            connection.execute(delete(tokens).where(tokens.c.person == name))
            connection.execute(insert(tokens).values(**_kept(token, name, "token", days * 24)))
        return token

    def allow(self, name: str, dataset: str, epsilon: Number | None, *, by: str = "") -> None:
        """Set what a person may spend of a dataset, per unit of edge weight, charges included.

        epsilon: None for what the configuration says. Errors: ParameterError, also for somebody
        without a role there.
        """
        given = None if epsilon is None else text(non_negative(epsilon, name="epsilon"))
        if given is not None and len(given) > _LONGEST:
            raise ParameterError("This allowance is too long.", hint="Write 2, 0.5 or 1/10.")
        own = allowances.c.person == name, allowances.c.dataset == dataset
        with self._state.write() as connection:
            if not {dataset, EVERY} & self._datasets_of(connection, name):
                raise ParameterError(
                    f"{name!r} has no role in {dataset!r}.", hint="See: onesided people list."
                )
            connection.execute(delete(allowances).where(*own))
            if given is not None:
                row = {"person": name, "dataset": dataset, "epsilon": given}
                connection.execute(insert(allowances).values(**row))
            told = {"subject": name, "text": "as configured" if given is None else f"ε = {given}"}
            logged(connection, "allowance", by=by, dataset=dataset, **told)

    def allowed(self, name: str, dataset: str) -> Fraction | None:
        """What :meth:`allow` set; None where the configuration says it."""
        own = allowances.c.person == name, allowances.c.dataset == dataset
        row = self._state.one(select(allowances).where(*own))
        return None if row is None else Fraction(row["epsilon"])

    @staticmethod
    def _datasets_of(connection: Any, name: str) -> set[str]:
        found = connection.execute(select(roles.c.dataset).where(roles.c.person == name))
        return {str(row[0]) for row in found}

    def _require_own(self, connection: Any, name: str, by: Person, what: str) -> None:
        """Errors: ServiceError unless all that the person's token opens is the curator's, too."""
        held = self._datasets_of(connection, name)
        if not held or not all(by.may(CURATOR, one) for one in held):
            raise ServiceError(
                403,
                "Forbidden",
                f"{name!r} {what}, and the token of {name!r} is for more than you curate.",
                hint="Ask the operator, who uses the command: onesided people.",
            )

    def list(self) -> Sequence[Mapping[str, Any]]:
        """Everybody, with roles, and until when their latest token holds."""
        found = []
        for row in self._state.all(select(people).order_by(people.c.person)):
            person = self.named(row["person"])
            held = self._state.all(
                select(tokens.c.expires).where(
                    tokens.c.person == row["person"], tokens.c.kind == "token"
                )
            )
            last = max((one["expires"] for one in held), default="")
            told = {} if person is None else person.told()
            found.append({"person": row["person"], "roles": told, "expires": last})
        return found

    def named(self, name: str) -> Person | None:
        """The person of that name, whoever vouched for it; None if there is none."""
        if self._state.one(select(people).where(people.c.person == name)) is None:
            return None
        held: dict[str, set[str]] = {}
        for row in self._state.all(select(roles).where(roles.c.person == name)):
            held.setdefault(row["dataset"], set()).add(row["role"])
        return Person(name=name, roles={key: frozenset(some) for key, some in held.items()})

    def of_token(self, token: str, *, kind: str = "token") -> Person | None:
        """Whose token it is; None for one that is wrong, expired, revoked or of another kind."""
        start, _, rest = token.partition("_")
        name, _, secret = rest.partition("_")
        if start != _START or not name or not secret or len(token) > _LONGEST:
            return None
        row = self._state.one(select(tokens).where(tokens.c.id == name))
        kept = _NOBODY if row is None else str(row["digest"])
        same = hmac.compare_digest(kept, _digest(token))
        if row is None or not same or row["kind"] != kind or row["expires"] <= now():
            return None
        return self.named(str(row["person"]))

    def sign_in(self, token: str) -> tuple[Person, str] | None:
        """The person of a token, and a cookie that ends with it; None as :meth:`of_token`."""
        person = self.of_token(token)
        if person is None:
            return None
        cookie, own = _new_token(), tokens.c.id == token.split("_")[1]
        row = _kept(cookie, person.name, "cookie", COOKIE_HOURS)
        with self._state.write() as connection:
            ends = connection.execute(select(tokens.c.expires).where(own)).scalar()
            if ends is None:  # revoked meanwhile
                return None
            row["expires"] = min(str(row["expires"]), str(ends))
            connection.execute(delete(tokens).where(tokens.c.expires <= now()))
            connection.execute(insert(tokens).values(**row))
        return person, cookie

    def sign_out(self, cookie: str) -> None:
        """Forget a cookie at once."""
        self._state.run(delete(tokens).where(tokens.c.digest == _digest(cookie)))

    def expire(self, name: str, *, at: str) -> None:
        """Let all tokens of a person end at an instant."""
        self._state.run(update(tokens).where(tokens.c.person == name).values(expires=at))


def csrf_of(cookie: str) -> str:
    """What a form of the browser with this cookie must carry; another site cannot know it."""
    return hmac.new(cookie.encode(), b"onesided form", hashlib.sha256).hexdigest()


def csrf_holds(cookie: str, given: str) -> bool:
    """Whether a form came from our own page, compared in constant time."""
    return hmac.compare_digest(csrf_of(cookie), given.encode("ascii", "replace").decode())


def _new_token() -> str:
    """A public name of 64 bits and a secret of 256."""
    return f"{_START}_{secrets.token_hex(8)}_{secrets.token_hex(32)}"


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _kept(token: str, person: str, kind: str, hours: int) -> dict[str, object]:
    made = dt.datetime.fromisoformat(now())
    ends = made + dt.timedelta(hours=hours)
    return {
        "id": token.split("_")[1],
        "digest": _digest(token),
        "person": person,
        "kind": kind,
        "made": made.isoformat(timespec="microseconds"),
        "expires": ends.isoformat(timespec="microseconds"),
    }


def _forget(connection: Any, name: str) -> None:
    for table in (tokens, roles, allowances, kept, people):
        connection.execute(delete(table).where(table.c.person == name))


def _is_there(connection: Any, name: str) -> bool:
    return connection.execute(select(people).where(people.c.person == name)).first() is not None


def _require(connection: Any, name: str) -> None:
    """Errors: ParameterError for nobody."""
    if not _is_there(connection, name):
        raise ParameterError(
            f"There is no person {name!r}.", hint="See: onesided people list.", person=name
        )


def _refuse_taken(connection: Any, who: str) -> None:
    """Refuse the name of somebody who asked here and was removed."""
    if connection.execute(select(asks.c.id).where(asks.c.person == who).limit(1)).first():
        raise ParameterError(
            f"Somebody named {who!r} asked here before, and was removed.",
            hint="Choose another name: answers belong to the name that asked for them.",
            person=who,
        )


def _refuse_unknown(given: Mapping[str, Sequence[str]]) -> None:
    for dataset, held in given.items():
        plain_text(dataset, name="the dataset", empty=False)
        for role in held:
            if role not in ROLES:
                raise ParameterError(
                    f"There is no role {role!r}.", hint=f"One of {', '.join(ROLES)}.", role=role
                )
