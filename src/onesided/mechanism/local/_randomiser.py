"""What every local randomiser can do: a client's side and a server's side."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from itertools import islice
from statistics import NormalDist
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import (
    INFINITE,
    MAX_RATE,
    Infinite,
    Loss,
    Number,
    exp_neg_bounds,
    log_up,
    rate,
    strict_share,
)
from onesided.errors import DataError, ParameterError
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.policy import Edge, Guarantee, Policy

# Significant bits of a chance. The loss that they cost is below 2^-54.
_BITS: Final = 56
_LOSS_BITS: Final = 64
_READABLE: Final = Fraction(1, 2**48)
_LEAST: Final = Fraction(1, 2**44)


def finite(epsilon: Loss | Number, *, name: str = "epsilon") -> Fraction:
    """``epsilon`` as an exact fraction in [2^-40, 2^10]. Errors: ParameterError."""
    number = rate(epsilon, name=name)
    if isinstance(number, Infinite):
        raise ParameterError(
            f"{name} must be finite: an infinite one would send the truth as it is.",
            hint="Leave the values that need no protection out of the policy's edges instead.",
            value=epsilon,
        )
    return number


def shrink(exponent: Fraction) -> Fraction:
    """A fraction ``t`` in ``(e^-exponent, 1)``, close above; ``1/t`` may stand for ``e^exponent``.

    It is further above than :func:`loss_of` rounds up, so that ``loss_of(1/t) <= exponent``.
    Errors: ParameterError below 2^-44.
    """
    if exponent < _LEAST:
        raise ParameterError(
            f"A loss of {float(exponent):.3g} along an edge is too small to randomise for.",
            hint="Give a larger epsilon or weight: nothing could be learnt from the reports.",
        )
    # A larger exponent is cut: t is then too large, which is more private.
    exponent = min(exponent, MAX_RATE)
    bits = _BITS + int(exponent * 3 / 2) + 1
    high = exp_neg_bounds(exponent, bits=bits + 8)[1]
    return round_up_to(high, bits=_BITS) + _unit(high)


def round_up_to(number: Fraction, *, bits: int = _BITS) -> Fraction:
    """The least number of ``bits`` significant bits that is not below ``number``; monotone."""
    if number == 0:
        return number
    unit = _unit(number, bits=bits)
    return -(-number // unit) * unit


def _unit(number: Fraction, *, bits: int = _BITS) -> Fraction:
    """The worth of the last significant bit: ``2^(e - bits)`` where ``2^(e-1) <= number < 2^e``."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    if number >= Fraction(2) ** exponent:
        exponent += 1
    return Fraction(2) ** (exponent - bits)


def loss_of(odds: Loss) -> Loss:
    """The natural logarithm of exact odds, rounded up by at most 2^-64."""
    return INFINITE if isinstance(odds, Infinite) else log_up(odds, bits=_LOSS_BITS)


def readable(loss: Loss) -> Loss:
    """The simplest fraction from ``loss`` to 2^-48 above it: 1/3, where the loss is just below."""
    if isinstance(loss, Infinite):
        return loss
    low, high, parts = loss, loss + _READABLE, []
    while math.ceil(low) > high:
        parts.append(math.floor(low))
        low, high = 1 / (high - parts[-1]), 1 / (low - parts[-1])
    found = Fraction(math.ceil(low))
    for part in reversed(parts):
        found = part + 1 / found
    return found


def ratio(over: Fraction, under: Fraction) -> Loss:
    """``over / under``; INFINITE if only ``under`` is 0, and 0 if ``over`` is."""
    if over == 0:
        return Fraction(0)
    return INFINITE if under == 0 else over / under


def letters_of(alphabet: Iterable[str], *, name: str = "alphabet") -> tuple[str, ...]:
    """At least two different letters, each text. Errors: ParameterError."""
    if isinstance(alphabet, str):
        raise ParameterError(
            f"The {name} must be a list of letters, got the text {alphabet!r}.",
            hint='For example ["yes", "no"].',
        )
    letters = tuple(alphabet)
    for letter in letters:
        if not isinstance(letter, str) or not letter or "->" in letter:
            raise ParameterError(
                f"A letter must be text without '->', got {letter!r}.",
                hint="Name each answer that a person can give, for example 'yes'.",
                value=letter,
            )
    if len(set(letters)) != len(letters):
        twice = next(letter for letter in letters if letters.count(letter) > 1)
        raise ParameterError(
            f"The letter {twice!r} is in the alphabet twice.",
            hint="List every answer once.",
            value=twice,
        )
    if len(letters) < 2:
        raise ParameterError(
            f"An alphabet of {len(letters)} letter{'s' * (len(letters) != 1)} says nothing.",
            hint="List every answer that a person can give; there must be at least two.",
            letters=len(letters),
        )
    return letters


def known_letter(letter: str, letters: Collection[str], *, kind: str = "") -> None:
    """Refuse what is no letter. Errors: ParameterError."""
    if letter not in letters:
        raise ParameterError(
            f"The {kind}letter {letter!r} is not in the alphabet.",
            hint=f"The letters are {', '.join(list(letters)[:12])}.",
            value=letter,
        )


def chosen_of(chosen: Iterable[str], letters: tuple[str, ...], *, name: str) -> tuple[str, ...]:
    """Some of the letters, in the alphabet's order. Errors: ParameterError."""
    picked = [chosen] if isinstance(chosen, str) else list(chosen)
    for letter in picked:
        known_letter(letter, letters, kind=f"{name} ")
    if not picked or len(set(picked)) != len(picked):
        raise ParameterError(
            f"The {name} letters must be at least one, and each once; got {picked!r}.",
            hint="Without a letter to protect there is nothing to hide.",
        )
    return tuple(letter for letter in letters if letter in picked)


def codes_of(values: Iterable[Any], places: Mapping[str, int]) -> IntArray:
    """The place of each value in the alphabet. Errors: DataError naming the first stranger."""
    if isinstance(values, str | bytes):
        raise DataError(
            f"Values must be a list of letters, got the text {values!r}.",
            hint="For one person use report(value).",
        )
    held = values.tolist() if isinstance(values, np.ndarray) else values
    known = list(held)
    try:
        return np.fromiter((places[value] for value in known), dtype=np.int64, count=len(known))
    except (KeyError, TypeError):
        where = next(
            i for i, value in enumerate(known) if not (isinstance(value, str) and value in places)
        )
        raise DataError(
            f"The value {known[where]!r} at position {where} is not in the alphabet.",
            hint=f"The letters are {', '.join(list(places)[:12])}; nothing was drawn.",
            position=where,
        ) from None


FORMAT: Final = "onesided-local/1"
_HINT: Final = "Send what report(value).to_json() gave, unchanged."


@dataclass(frozen=True, slots=True)
class Report:
    """One randomised answer, and the fingerprint of the configuration that made it.

    The answer is one of the randomiser's outputs, or a text of bits. It is safe to send as it is.

    >>> report = Report("abc", "yes")
    >>> report.to_json(), Report.from_json(report.to_json()) == report
    ('{"answer":"yes","configuration":"abc","format":"onesided-local/1"}', True)
    """

    configuration: str
    answer: str

    def to_dict(self) -> dict[str, str]:
        """For JSON."""
        return {"answer": self.answer, "configuration": self.configuration, "format": FORMAT}

    def to_json(self) -> str:
        """The report as one line of JSON; equal reports give equal text."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Read what :meth:`to_json` wrote. Errors: DataError for anything else."""
        try:
            found = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            raise DataError(f"A report is not JSON: {_short(text)}.", hint=_HINT) from None
        if not isinstance(found, dict) or set(found) != {"answer", "configuration", "format"}:
            raise DataError(
                f"A report needs answer, configuration and format, got {_short(text)}.", hint=_HINT
            )
        if found["format"] != FORMAT:
            raise DataError(
                f"A report has the format {_short(found['format'])}, not {FORMAT!r}.",
                hint="It was written by another version, or by something else.",
            )
        for name in ("answer", "configuration"):
            if not isinstance(found[name], str):
                raise DataError(
                    f"A report's {name} must be text, got {_short(found[name])}.", hint=_HINT
                )
        return cls(found["configuration"], found["answer"])


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How many people reported, and how often each output or bit was seen.

    Tallies of one configuration add up: count each batch where it arrives.

    >>> from onesided.mechanism.local import warner
    >>> asked = warner(epsilon=1)
    >>> both = asked.tally([asked.report("yes")]) + asked.tally([asked.report("no")])
    >>> both.people
    2
    """

    configuration: str
    people: int
    seen: IntArray

    def __add__(self, other: Tally) -> Tally:
        """Both together. Errors: DataError for tallies of different configurations."""
        check_configuration(other.configuration, self.configuration)
        return Tally(self.configuration, self.people + other.people, self.seen + other.seen)


def check_configuration(found: str, expected: str) -> None:
    """Refuse what another configuration made."""
    if found != expected:
        raise DataError(
            f"A report was made by the configuration {found[:40]!r}, not by {expected!r}.",
            hint="Estimate each configuration's reports with the randomiser that made them; "
            "probabilities or letters differ, so mixing them would give wrong numbers.",
            found=found,
            expected=expected,
        )


FloatArray: TypeAlias = NDArray[np.float64]
CONFIDENCE: Final = "0.95"
_SMALLEST: Final = 5e-324


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Unbiased shares of each letter; everything here is post-processing of the reports.

    alphabet: the letters, in the order of all arrays. people: how many reported.
    frequencies: unbiased shares; they may lie below 0 or above 1.
    variances: unbiased estimates of their variances, 0 where that would be negative. About the
        people who reported, or, if ``sampled``, about the population that they were drawn from
        independently.
    least, most: how many of the people who reported hold the letter, for certain: never wrong
        if every report was made as it should be.
    widths: how far one report can move the sum of one letter's terms.

    >>> from onesided.mechanism.local import mangat
    >>> found = mangat(epsilon=1).estimate(mangat(epsilon=1).release(["no", "yes", "no"]))
    >>> found.people, bool(found.least[1] <= 2)
    (3, True)
    """

    alphabet: tuple[str, ...]
    people: int
    frequencies: FloatArray
    variances: FloatArray
    least: IntArray
    most: IntArray
    widths: FloatArray
    sampled: bool

    @property
    def counts(self) -> FloatArray:
        """Estimated numbers of people."""
        return self.frequencies * self.people

    def share(self, letter: str) -> float:
        """The estimated share of one letter. Errors: ParameterError for a stranger."""
        known_letter(letter, self.alphabet)
        return float(self.frequencies[self.alphabet.index(letter)])

    def interval(
        self, *, confidence: Number = CONFIDENCE, exact_coverage: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """``(lower, upper)`` ends for each letter's share, each letter on its own.

        By Hoeffding's inequality, which holds for any number of reports and holders. With
        ``exact_coverage=False`` by the normal approximation with estimated variances, narrower,
        and right only for many reports and letters that some ten of the people hold: of a letter
        that only its holders report and none did, it says 0 to 0.
        Both are cut to [0, 1], and about the reporting people to what is certain of them.
        """
        hint = 'Use for example "0.95".'
        missed = 1 - strict_share(confidence, name="confidence", hint=hint)
        if exact_coverage:
            # Whole numbers of any size have a logarithm; a fraction this small may be no float.
            logarithm = math.log(2 * missed.denominator) - math.log(missed.numerator)
            half = self.widths * math.sqrt(logarithm / (2 * self.people))
        else:
            tail = max(float(missed / 2), _SMALLEST)
            half = -NormalDist().inv_cdf(tail) * np.sqrt(self.variances)
        lower, upper = self.frequencies - half, self.frequencies + half
        least = 0.0 if self.sampled else self.least / self.people
        most = 1.0 if self.sampled else self.most / self.people
        return np.clip(lower, least, most), np.clip(upper, least, most)


Codes = NDArray[Any]
Made = TypeVar("Made")
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

    _kind: ClassVar[str]

    @property
    def configuration(self) -> dict[str, object]:
        """Everything that makes two randomisers different, for JSON; exact numbers as text."""
        told = {one.name: _told(getattr(self, one.name)) for one in fields(self)}  # type: ignore[arg-type]
        return {"randomiser": self._kind, **told}

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
            known_letter(letter, self._places)
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
                "Reports must be a list of reports, got a single one.", hint="Put it into a list."
            )
        seen, people = np.zeros(self._outputs, dtype=np.int64), 0
        arriving = _listed(iter, reports)
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
        counted: Counter[Report | str] = _listed(Counter, batch)
        for report, times in counted.items():
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


def _told(value: Any) -> Any:
    return list(map(_told, value)) if isinstance(value, tuple) else str(value)


def _listed(make: Callable[[Any], Made], reports: object) -> Made:
    """What is made of a list of reports. Errors: DataError for what is none."""
    try:
        return make(reports)
    except TypeError:
        raise DataError(
            "Reports must be a list of JSON texts or Report values.",
            hint="Give the texts that clients sent, or the array that release() gave.",
        ) from None


def shares_of(frequencies: ArrayLike, letters: int) -> FloatArray:
    """Frequencies as an array of the right length. Errors: DataError."""
    found = np.asarray(frequencies, dtype=np.float64)
    if found.shape != (letters,) or not np.isfinite(found).all():
        raise DataError(
            f"Frequencies must be {letters} finite numbers, got shape {found.shape}.",
            hint="Give one share for each letter, in the alphabet's order.",
        )
    return found
