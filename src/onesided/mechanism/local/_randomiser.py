"""What every local randomiser can do: a client's side and a server's side."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import Loss
from onesided.errors import DataError, ParameterError
from onesided.mechanism.local._alphabet import codes_of
from onesided.mechanism.local._estimate import Estimate, FloatArray
from onesided.mechanism.local._odds import loss_of, readable
from onesided.mechanism.local._report import Report
from onesided.mechanism.local._tally import Tally, check_configuration
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.policy import Edge, Guarantee, Policy

Codes = NDArray[Any]
_BATCH: Final = 2**16


class Randomiser(ABC):
    """One person's answer, randomised before it leaves the device; nobody need be trusted.

    Promise: for letters x and y and every report r, ``Pr[r | x] <= e^loss(x, y) Pr[r | y]``. The
    reverse is ``loss(y, x)`` and may be infinite. People's reports are independent. A person
    who reports k times pays k times; a repeated report of one stored answer is free.
    Units: losses in nats per report.

    >>> from onesided.mechanism.local import warner
    >>> asked: Randomiser = warner(epsilon="1/2")
    >>> float(asked.loss("yes", "no")) <= 0.5, asked.report("yes").answer in ("yes", "no")
    (True, True)
    """

    alphabet: tuple[str, ...]

    # What each family of randomisers is.

    @abstractmethod
    def odds(self, source: str, target: str) -> Loss:
        """The exact largest ``Pr[r | source] / Pr[r | target]`` over all reports r."""

    @property
    @abstractmethod
    def configuration(self) -> dict[str, object]:
        """Everything that makes two randomisers different, for JSON; exact numbers as text."""

    @abstractmethod
    def variance(self, frequencies: ArrayLike, people: int, *, sampled: bool = False) -> FloatArray:
        """The variance of each estimated share, if ``frequencies`` are the true ones.

        sampled: people are drawn independently from a population with these frequencies, and
        the estimate is about it; otherwise the frequencies are those of these very people.
        """

    @abstractmethod
    def _draw(self, codes: IntArray, noise: Noise) -> Codes:
        """Randomised outputs for true letters, given and returned by their places."""

    @abstractmethod
    def _answer(self, output: Any) -> str:
        """One output as text."""

    @abstractmethod
    def _seen_in(self, answers: Mapping[str, int]) -> IntArray:
        """What answers, each so many times, add to a tally. Errors: DataError."""

    @abstractmethod
    def _seen(self, outputs: Codes) -> IntArray:
        """What many outputs add to a tally. Errors: DataError for impossible ones."""

    @abstractmethod
    def _frequencies(self, tally: Tally) -> FloatArray: ...

    @abstractmethod
    def _widths(self) -> FloatArray: ...

    @abstractmethod
    def _certain(self, tally: Tally) -> tuple[IntArray, IntArray]: ...

    # The client's side.

    def report(self, value: str, *, noise: Noise | None = None) -> Report:
        """One person's randomised answer. Errors: DataError for a value outside the alphabet."""
        outputs = self._draw(
            codes_of([value], self._places), SecureNoise() if noise is None else noise
        )
        return Report(self.fingerprint, self._answer(outputs[0]))

    def release(self, values: Iterable[str], *, noise: Noise | None = None) -> Codes:
        """The outputs of many people at once, in their order: what a simulation needs.

        Places in the alphabet (or in a channel's outputs), or one row of bits for each person.
        Errors: DataError for a value outside the alphabet; nothing was drawn.
        """
        return self._draw(codes_of(values, self._places), SecureNoise() if noise is None else noise)

    def reports(self, outputs: Codes) -> list[Report]:
        """What each of :meth:`release`'s outputs is when it is sent."""
        return [Report(self.fingerprint, self._answer(output)) for output in outputs]

    def loss(self, source: str, target: str) -> Loss:
        """The loss in nats when ``source`` must pass as ``target``, rounded up by at most 2^-64.

        INFINITE if some report would betray that it was not ``target``.
        """
        for letter in (source, target):
            if letter not in self._places:
                raise ParameterError(
                    f"The letter {letter!r} is not in the alphabet.",
                    hint=f"The letters are {', '.join(self.alphabet[:12])}.",
                )
        return loss_of(self.odds(source, target))

    def losses(self, policy: Policy) -> dict[Edge, Loss]:
        """The loss along each edge of a policy over this alphabet."""
        return {edge: self.loss(*policy.ends(edge)) for edge in policy.edges}

    def guarantee(self, policy: Policy) -> Guarantee:
        """What one report promises, edge by edge: losses rounded up to plain fractions."""
        return Guarantee(
            policy.name,
            {edge.name: readable(loss) for edge, loss in self.losses(policy).items()},
            {},
            about="One report of one person; nobody else is trusted.",
            made_for=policy,
        )

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of SHA-256 of the configuration; every report carries it."""
        text = json.dumps(self.configuration, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    # The server's side.

    def tally(self, reports: Iterable[Report | str] | Codes | Tally) -> Tally:
        """Count reports: JSON texts, :class:`Report` values, or the array of :meth:`release`.

        An array carries no fingerprint: it must come from this configuration's ``release``.
        Errors: DataError for malformed reports, and for those of another configuration.
        """
        if isinstance(reports, Tally):
            check_configuration(reports.configuration, self.fingerprint)
            return reports
        if isinstance(reports, np.ndarray) and reports.dtype.kind not in "OU":
            seen = self._seen(reports)
            return Tally(self.fingerprint, len(reports), seen)
        if isinstance(reports, str | bytes | Report | Mapping):
            raise DataError(
                "Reports must be a list of reports, got a single one.",
                hint="Put it into a list.",
            )
        seen, people = np.zeros(self._outputs, dtype=np.int64), 0
        arriving = _iterator(reports)
        while batch := list(islice(arriving, _BATCH)):
            seen, people = seen + self._read(batch), people + len(batch)
        return Tally(self.fingerprint, people, seen)

    def estimate(
        self, reports: Iterable[Report | str] | Codes | Tally, *, sampled: bool = False
    ) -> Estimate:
        """Unbiased shares of the letters, with variances, intervals and what is certain.

        sampled: whether the estimate is about the population that the people were drawn from.
        Errors: DataError for no reports, and as :meth:`tally`.
        """
        tally = self.tally(reports)
        if tally.people == 0:
            raise DataError(
                "There are no reports, so nothing can be estimated.",
                hint="Wait for at least one report.",
            )
        frequencies = self._frequencies(tally)
        variances = self.variance(frequencies, tally.people, sampled=sampled)
        if sampled:
            # As for any sample: estimated shares vary less around themselves than around the truth.
            variances *= tally.people / (tally.people - 1) if tally.people > 1 else np.nan
        least, most = self._certain(tally)
        return Estimate(
            self.alphabet,
            tally.people,
            frequencies,
            np.where(np.isnan(variances), np.inf, np.maximum(variances, 0)),
            least,
            most,
            self._widths(),
            sampled,
        )

    @property
    def _outputs(self) -> int:
        """How many counts a tally has."""
        return len(self.alphabet)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {letter: place for place, letter in enumerate(self.alphabet)}

    def _read(self, batch: list[Report | str]) -> IntArray:
        """What a batch of reports adds to a tally."""
        answers: Counter[str] = Counter()
        # Equal answers have equal texts, so each is read once, however many people gave it.
        for report, times in _distinct(batch).items():
            answers[self._answer_of(report)] += times
        return self._seen_in(answers)

    @cached_property
    def _frame(self) -> tuple[str, str]:
        """What stands before and after the answer in a report's text."""
        start, _, end = Report(self.fingerprint, "|").to_json().partition("|")
        return start, end

    def _answer_of(self, report: Report | str) -> str:
        """The answer of a report of this configuration."""
        start, end = self._frame
        if isinstance(report, str) and report.startswith(start) and report.endswith(end):
            answer = report[len(start) : -len(end)]
            # What our own writer gave needs no parser, unless something in it is escaped.
            if '"' not in answer and "\\" not in answer:
                return answer
        found = report if isinstance(report, Report) else Report.from_json(report)
        check_configuration(found.configuration, self.fingerprint)
        return found.answer


def _iterator(reports: Iterable[Report | str] | Codes) -> Iterator[Report | str]:
    try:
        return iter(reports)
    except TypeError:
        raise _no_list() from None


def _distinct(batch: list[Report | str]) -> Counter[Report | str]:
    try:
        return Counter(batch)
    except TypeError:
        raise _no_list() from None


def _no_list() -> DataError:
    return DataError(
        "Reports must be a list of JSON texts or Report values.",
        hint="Give the texts that clients sent, or the array that release() gave.",
    )


def shares_of(frequencies: ArrayLike, letters: int) -> FloatArray:
    """Frequencies as an array of the right length. Errors: DataError."""
    found = np.asarray(frequencies, dtype=np.float64)
    if found.shape != (letters,) or not np.isfinite(found).all():
        raise DataError(
            f"Frequencies must be {letters} finite numbers, got shape {found.shape}.",
            hint="Give one share for each letter, in the alphabet's order.",
        )
    return found
