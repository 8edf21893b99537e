"""Programs whose release is wrong in one way each, and their right twins."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from onesided import policy as policies
from onesided.policy import Policy, Record
from onesided.verify import Line, Universe, program
from onesided_proofs.zoo import wrong_release as zoo

_ONE = Universe(groups=("a",))
_MIX_UP = "a coin and its complement mixed up"
_ABC = Universe(groups=("a", "b", "c"), units=1)
_TWO = Universe(units=1)
_FOUR = Universe(
    units=1, values=tuple(Record(kind) for kind in ("none", "first", "second", "both"))
)
_LETTERS = Universe(units=1, values=tuple(Record("record", frozenset(letter)) for letter in "abc"))


def cases() -> Iterator[Line]:
    """Keys, winners, streams, samples, recipes, local answers."""
    added, one = policies.addition_only(), policies.presence(max_groups=1)
    yield program(
        "histogram",
        zoo.keys_of_data,
        added,
        1,
        universe=Universe(max_groups=1),
        flaw="keys seen in private data are published",
        seen="any GROUP BY",
    )
    yield program("histogram, public keys", zoo.public_keys, one, 1)
    # P = "not in both places": whoever is in at most one of them may pass as in the other.
    free = ("none", "first", "second")
    edges = [(one, two) for one in (*free, "both") for two in free if one != two]
    yield program(
        "two counts",
        zoo.or_policy,
        policies.custom(kinds=(*free, "both"), edges=edges),
        1,
        universe=_FOUR,
        flaw="the OR policy: a count that is called monotone rises",
        seen="ADP-2022 section VI-A3 (erratum 2)",
    )
    yield program("two counts, presence", zoo.or_policy, _dropping(), 1, universe=_FOUR)
    yield from _winners()
    yield from _thresholds()
    yield from _open_records()
    yield from _zeros()
    yield from _sampling()


def _dropping() -> Policy:
    """Presence in two places, written out."""
    edges = [("both", "first", 1), ("both", "second", 1), ("both", "none", 2)]
    edges += [("first", "none", 1), ("second", "none", 1)]
    return policies.custom(kinds=("none", "first", "second", "both"), edges=edges)


def _winners() -> Iterator[Line]:
    """Report noisy max and top-k."""
    one, two = policies.presence(max_groups=1), policies.presence(max_groups=2)
    yield program(
        "top-1",
        zoo.winners_in_clear,
        one,
        1,
        flaw="the winner's true count is published",
        seen="report noisy max with a value",
    )
    yield program(
        "top-2 with values",
        zoo.top_two,
        two,
        1,
        universe=_ABC,
        flaw="ε for each of k values instead of ε/k",
        seen="ADP-2021 Algorithm 1 without its k",
        tail=1e-8,
    )
    yield program(
        "top-2, ε/2 each", zoo.top_two_split, two, 1, universe=_ABC, tail=1e-9, unseen=1e-4
    )


def _thresholds() -> Iterator[Line]:
    one, two, added = (
        policies.presence(max_groups=1),
        policies.presence(max_groups=2),
        policies.addition_only(),
    )
    right, stopping = (
        partial(zoo.sparse_vector, rate="1/2", stop=2),
        partial(zoo.sparse_vector, rate="1", stop=1),
    )
    yield program("one-sided SVT, c = 2", right, two, 1, universe=_TWO)
    yield program("one-sided SVT, c = 1", stopping, two, 1, universe=_TWO)
    yield program(
        "one-sided SVT",
        partial(zoo.sparse_vector, rate="1", stop=2),
        two,
        1,
        universe=_TWO,
        flaw="noise for one answer above, two published",
        seen="ADP-2021 Algorithm 2 without its c",
    )
    yield program(
        "one-sided SVT",
        zoo.truth_above,
        one,
        1,
        flaw="the true count is published above the threshold",
        seen="alarms that report the number",
    )
    yield program("monitor, marks kept", partial(zoo.stream, marks=True), added, 1, universe=_ONE)
    yield program(
        "monitor",
        partial(zoo.stream, marks=False),
        added,
        1,
        universe=_ONE,
        flaw="marks lost: the same visit answered above twice",
        seen="ADP-2021 Algorithm 3 after a crash",
    )


def _open_records() -> Iterator[Line]:
    osdp = policies.sensitive("private")
    yield program(
        "all open records",
        zoo.open_in_clear,
        osdp,
        1,
        universe=_ONE,
        flaw="who is missing is sensitive: the exclusion attack",
        seen="access control (OSDP section 3.1)",
    )
    right = partial(zoo.sample, rate="1", share="1 - e^-rate", kinds=("open",))
    yield program("sample of open records", right, osdp, 1, universe=_ONE)
    yield program(
        "sample of records",
        partial(zoo.sample, rate="1", share="1 - e^-rate", kinds=("open", "sensitive")),
        osdp,
        1,
        universe=_ONE,
        flaw="protected records are sampled too",
        seen="OSDP Algorithm 1 without its policy",
    )
    yield program(
        "sample of open records",
        partial(zoo.sample, rate="1/2", share="e^-rate", kinds=("open",)),
        osdp,
        "1/2",
        universe=_ONE,
        flaw="kept with e^-ε instead of 1 - e^-ε",
        seen=_MIX_UP,
    )


def _zeros() -> Iterator[Line]:
    """The zero-set recipe."""
    osdp = policies.sensitive("private")
    world = Universe(groups=("a",), units=1)
    yield program(
        "zero set",
        partial(zoo.zero_set, true_zeros=False),
        osdp,
        4,
        universe=world,
        loose="no record uses up both halves",
        unseen=1e-4,
    )
    yield program(
        "zero set",
        partial(zoo.zero_set, true_zeros=True),
        osdp,
        4,
        universe=world,
        flaw="zeros found in the data instead of in a noisy answer",
        seen="sparse-histogram shortcuts (compare OSDP Algorithm 3)",
    )


def _sampling() -> Iterator[Line]:
    bounded, unbounded = policies.bounded(), policies.unbounded()
    yield program(
        "3-ary response",
        partial(zoo.response, others=2),
        bounded,
        1,
        universe=_LETTERS,
        tail=1e-8,
        unseen=1e-3,
        loose="as far as the cut tails show",
    )
    yield program(
        "3-ary response",
        partial(zoo.response, others=1),
        bounded,
        1,
        universe=_LETTERS,
        flaw="Warner's probability for two values used for three",
        seen="a common slip",
    )
    # Theorem 6 of the note with p = 1 - 1/e: ε is 1 at the rate ln(1 + e) = 1.3132...
    yield program(
        "subsample + noise above",
        partial(zoo.subsampled, rate="1.313"),
        unbounded,
        1,
        universe=_ONE,
    )
    yield program(
        "subsample + noise above",
        partial(zoo.subsampled, rate="1/2"),
        unbounded,
        "1/2",
        universe=_ONE,
        flaw="amplification claimed for the direction that has no noise",
        seen="one-sided note, Theorem 6, without -log(1 - p)",
    )
