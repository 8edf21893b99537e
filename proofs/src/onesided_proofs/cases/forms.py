"""What leaks by the form of an output, and chance that no enumeration sees."""

from __future__ import annotations

from collections.abc import Iterator

from onesided import policy as policies
from onesided.verify import Line, Universe, program
from onesided_proofs.zoo import chance, forms

_ONE = Universe(max_groups=1)
_HABIT = "research code, and what an auditor is shown"


def cases() -> Iterator[Line]:
    """One sound line beside the broken ones."""
    added = policies.addition_only()
    yield program("counts in a dictionary", forms.sorted_keys, added, 1, universe=_ONE)
    for run, flaw in (
        (forms.ordered_by_truth, "a dictionary in the order of the true counts"),
        (forms.signed_zero, "-0.0 where somebody is, 0.0 where nobody is"),
        (forms.true_or_one, "True where somebody is, 1 where nobody is"),
        (forms.other_width, "int32 or int64, by the true count"),
        (forms.hidden_field, "the truth in a field that is not compared"),
        (forms.payload_of_nan, "the truth in the bits of a NaN"),
        (forms.class_attribute, "the truth in an attribute of the answer's class"),
        (forms.shadowed_slot, "the truth in a slot that another one hides"),
        (forms.denied_fields, "the truth in an object that denies its fields"),
        (forms.other_text, "the truth in a text that prints as another"),
        (forms.part_of_array, "the truth in the array that the answer is a part of"),
        (forms.locked_array, "an array locked where somebody is"),
        (forms.same_or_equal, "one list twice, or two equal ones, by the true count"),
        (forms.noted_member, "the truth written on a member of an enumeration"),
    ):
        yield program("count, told", run, added, 1, universe=_ONE, flaw=flaw, seen=_HABIT)
    for other, flaw in (
        (chance.own_noise, "secure noise of its own at three times the rate"),
        (chance.seeded_noise, "a seeded generator of its own"),
        (chance.pythons_random, "Python's random numbers"),
        (chance.numpys_random, "numpy's random numbers"),
        (chance.secret_token, "the system's random numbers"),
        (chance.the_clock, "the clock taken for chance"),
        (chance.device, "random numbers read from a device"),
        (chance.other_thread, "random numbers that another thread draws"),
        (chance.other_process, "random numbers of another process"),
        (chance.of_openssl, "random numbers of OpenSSL"),
        (chance.made_before, "a numpy generator made before"),
        (chance.Keeps(), "one draw kept from run to run"),
        (chance.Counts(), "something else every second time"),
        (chance.swallows_the_end, "goes on after its path has ended"),
    ):
        yield program("count, chance", other, added, 1, universe=_ONE, flaw=flaw, seen=_HABIT)
