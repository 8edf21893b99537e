"""One person's own input: which letters of an alphabet must be able to pass as which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from onesided.errors import PolicyError
from onesided.policy._base import Policy, Widened
from onesided.policy._cells import GroupCount
from onesided.policy._family import Family, names
from onesided.policy._family import edges as edges_field
from onesided.policy._implications import Arrows, Chains, order, require, widened_arrows
from onesided.policy._shift import ABSENT, Edge, Record, Shift, likely, some


@dataclass(frozen=True, slots=True, repr=False)
class Local(Policy):
    """One person's own input: which letters of an alphabet must be able to pass as which.

    Every letter is a kind and every arrow an edge of its own, so that a randomiser's loss is
    stated pair by pair.

    >>> from onesided import policy
    >>> policy.local(["yes", "no"]).kinds
    ('no', 'yes')
    """

    arrows: Arrows

    name = "local"

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(str(value) for value in self.arrows.values)

    @property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(Edge(str(s), str(t), weight) for s, t, weight in self.arrows.listed)

    single_valued = True

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        return self.one_value_shifts(query)

    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        """The letters, whatever the groups; a letter is counted in the group of its name."""
        del groups, max_groups
        return tuple(Record(kind, frozenset({kind})) for kind in self.kinds)

    def edge_between(self, real: Record, other: Record) -> Edge | None:
        weight = self.arrows.weights.get((real.kind, other.kind))
        return None if weight is None else Edge(real.kind, other.kind, weight)

    def parameters(self) -> dict[str, object]:
        return {"alphabet": list(self.arrows.values), "edges": self.arrows.stored()}

    def decides(self, other: Policy) -> bool | None:
        """Exact among local policies."""
        return self.arrows.within(other.arrows) if isinstance(other, Local) else None

    def widened(self, implied: Chains) -> Widened:
        """A letter that implies another must be able to pass as what that one may pass as."""
        require(implied, set(self.kinds), policy=self.name)
        arrows, added, warnings = widened_arrows(self.arrows, implied)
        return Widened(Local(arrows), added, warnings)

    def sentences(self, epsilon: Fraction) -> list[str]:
        """Every pair of answers, and the answers that are not protected."""
        protected = {edge.source for edge in self.edges}
        exposed = [kind for kind in self.kinds if kind not in protected]
        lines = [
            f"Protected ({edge.name}): someone whose true answer is {edge.source!r} may pass as "
            f"someone whose true answer is {edge.target!r}. {likely(epsilon * edge.weight)}"
            for edge in self.edges
        ]
        if exposed:
            lines.append(
                f"Not protected: {some(exposed)}. An observer may learn for certain that this is "
                "the true answer. Warning: if everyone whose true answer this is says so, anyone "
                "who does not is known to have another (an exclusion attack)."
            )
        return [*lines, "Each person's answer is hidden before it is sent; nobody need be trusted."]


def local(
    alphabet: Iterable[str],
    *,
    edges: Iterable[Sequence[object]] | None = None,
    sensitive: Iterable[str] | None = None,
) -> Local:
    """What one person answers: directed, weighted moves between letters.

    ``edges`` go one way each. ``sensitive`` instead makes each of these letters pass as every
    other. With neither, every letter may pass as every other (ordinary local privacy).
    Errors: PolicyError for letters outside the alphabet, a letter called "absent", or for both
        ``edges`` and ``sensitive``.

    >>> from onesided import policy
    >>> [edge.name for edge in policy.local(["yes", "no"], sensitive=["yes"]).edges]
    ['yes -> no']
    """
    if isinstance(alphabet, str) or not isinstance(alphabet, Iterable):
        raise PolicyError(
            f"An alphabet must be a list of letters, got {alphabet!r}.",
            hint='For example ["yes", "no"].',
        )
    letters = [_letter(letter) for letter in alphabet]
    if len(letters) < 2:
        raise PolicyError(
            f"An alphabet needs at least two letters, got {letters!r}.",
            hint="List every answer that a person can give, such as yes and no.",
        )
    if edges is not None and sensitive is not None:
        raise PolicyError("Give edges or sensitive, not both.", hint="edges can say it all.")
    if edges is None:
        sources = letters if sensitive is None else list(sensitive)
        edges = [(source, target) for source in sources for target in letters if source != target]
    arrows = Arrows.of(edges, directed=True, values=letters)
    if any("->" in letter for letter in letters):
        raise PolicyError("A letter must not contain '->'.", hint="Edges are named with it.")
    outside = set(arrows.values) - set(letters)
    if outside or len(set(letters)) != len(letters):
        raise PolicyError(
            f"{min(outside, key=order)!r} is not in the alphabet."
            if outside
            else "A letter is in the alphabet twice.",
            hint="List every answer that a person can give once, in the alphabet.",
            value=min(outside, key=order, default=""),
        )
    return Local(arrows)


def _letter(value: object) -> str:
    if value == ABSENT:
        raise PolicyError(
            f"A letter cannot be called {ABSENT!r}: that is what not being there is called.",
            hint="Call the answer something else, such as 'away'.",
            value=value,
        )
    if isinstance(value, str) and value:
        return value
    raise PolicyError(f"A letter must be text, got {value!r}.", hint="For example 'yes'.")


FAMILY: Final = Family(
    "local",
    local,
    {
        "alphabet": names('["yes", "no"]'),
        "edges": edges_field('[["yes", "no"]]', default=None),
        "sensitive": names('["yes"]', default=None),
    },
    example={"alphabet": ["yes", "no"], "sensitive": ["yes"]},
)
