"""Computing with published bounds: what is certain stays so, and every number lies within."""

import datetime as dt
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided.errors import ParameterError
from onesided.session import release_from_json, release_to_json
from onesided.session._arithmetic import Bounds, Interval, Row, Sum, tightest
from onesided.session._confidence import Confidence, miss_of
from onesided.show import EMPTY

ENDS = (-2, -1, 0, 1, 3)
PAIRS = [(low, up) for low in ENDS for up in ENDS if low <= up]


DAY, ONE = dt.date(2026, 1, 1), dt.timedelta(1)
DOUBTS = {"x": Fraction(1, 20)}


def interval(low, up):
    return Interval(*(None if end is None else Fraction(end) for end in (low, up)))


def row(sure, likely=(None, None)):
    return Row.known(interval(*sure), interval(*likely))


def within(found, value):
    return (found.lower is None or found.lower <= value) and (
        found.upper is None or value <= found.upper
    )


def every(low, up):
    """Some numbers of an interval, its ends among them."""
    return [low + (up - low) * Fraction(step, 4) for step in range(5)]


@pytest.mark.parametrize("one", PAIRS)
def test_every_pair_of_numbers_lies_in_the_result_and_reaches_its_ends(one):
    """Sums, differences and ratios of all intervals with ends of a few numbers."""
    for two in PAIRS:
        a, b = interval(*one), interval(*two)
        for found, made in (
            (a + b, lambda x, y: x + y),
            (a + -b, lambda x, y: x - y),
            (a.over(b), lambda x, y: x / y),
        ):
            if found.lower is None:
                assert found.upper is None
                assert min(two) <= 0 <= max(two)
                continue
            values = [made(x, y) for x, y in product(every(*one), every(*two))]
            assert all(within(found, value) for value in values)
            assert (min(values), max(values)) == (found.lower, found.upper)


def test_a_ratio_has_no_bound_where_the_denominator_may_be_0():
    for two in ((0, 3), (-1, 1), (0, 0), (-2, 0)):
        found = interval(1, 3).over(interval(*two))
        assert (found.lower, found.upper) == (None, None)
    assert interval(1, 3).over(interval(-3, -1)).lower == -3


def test_sides_without_a_bound():
    open_above = interval(2, None)
    assert (open_above + interval(1, 1)).upper is None
    assert (-open_above).lower is None
    assert (-open_above).upper == -2
    assert interval(1, 3).over(open_above).lower == 0
    assert interval(1, 3).over(open_above).upper == Fraction(3, 2)
    assert interval(-3, -1).over(open_above).upper == 0
    assert open_above.times(Fraction(0)).upper == 0


ROWS = [row(one, two) for one, two in product([(0, 3), (-2, None), (None, None)], repeat=2)]
ROWS += [row((1, 3), (2, 2)), row((None, 3), (1, 2)), row((-3, -1)), row((1, None), (2, 1))]


@pytest.mark.parametrize("made", [Interval.__add__, Interval.over, Interval.both])
def test_likely_bounds_take_nothing_from_what_is_certain(made):
    """What is certain is what would be certain without them; what is likely is no wider."""
    for one, two in product(ROWS, repeat=2):
        found = Row.of(made, one, two)
        assert found.sure == Row.of(made, *(Row(part.sure, part.sure) for part in (one, two))).sure
        assert found.sure.both(found.likely) == found.likely
        likely = made(one.likely, two.likely)
        assert found.likely.both(likely) == found.likely


def test_a_twin_that_keeps_one_bound_for_each_side_is_seen():
    """As it was: of a certain and a likely bound the narrower one alone."""

    def kept(one, two):
        told = one.likely.both(two.likely)
        sure = Interval(
            *(end if end == getattr(one.sure.both(two.sure), side) else None
              for side, end in (("lower", told.lower), ("upper", told.upper)))
        )  # fmt: skip
        return Row.known(sure, told)

    one, two = row((0, 9)), row((None, None), (None, 4))
    assert kept(one, two).sure.upper is None
    assert Row.of(Interval.both, one, two) == row((0, 9), (0, 4))


def counts(policy=None, **more):
    places = ["gym"] * 40 + ["bar"] * 20 + ["zoo"] * 3
    table = pl.DataFrame({"person": range(63), "place": places})
    policy = od.policy.presence(max_groups=1) if policy is None else policy
    session = od.Session(table, unit="person", policy=policy, budget=1000)
    return session.count(by="place", keys=["gym", "bar", "zoo"], epsilon=40, **more)


def test_sums_shares_and_comparisons_of_certified_counts():
    found = od.certain(counts())
    assert found.sum().at_most(70) == [()]
    assert found.at_most(5) == ["zoo"]
    assert found.certainly_less(10) == ["zoo"]
    assert (found / 63).at_most("1/3") == ["bar", "zoo"]
    assert (100 - found).at_least(90) == ["zoo"]
    assert found.miss == 0
    assert found.confidence == ""
    assert found.sum().table.columns()["upper_certain"] == [True]
    assert found.table.columns()["lower"] == [0, 0, 0]
    assert "no further cost" in " ".join(found.sentences())
    assert "presence" in " ".join(found.sentences())
    assert "<table>" in found._repr_html_()


def test_what_is_not_certain_is_left_out_or_joined_and_said():
    release = counts(od.policy.unbounded(), max_groups=1)
    sure = od.certain(release)
    assert sure.at_most(10**6) == []
    assert sure.table.columns()["lower"] == [0, 0, 0]
    found = od.certain(release, likely=True)
    assert found.at_most(10**6) == []
    assert found.miss == Fraction(3, 20)
    assert found.sum().confidence == "85 %, all at once"
    told = found.sum().table.columns()
    assert (told["upper"], told["upper_certain"]) == ([None], [False])
    assert told["likely_upper"] == [sum(found.table.columns()["likely_upper"])]
    assert "likely_upper (85 %, all at once)" in str(found.sum())
    assert "<th" in found._repr_html_()
    assert "likely_upper" not in sure.table.columns()
    assert (found + found).miss == Fraction(3, 20)
    assert (found - od.certain(release, likely=True)).miss == Fraction(3, 20)
    again = od.certain(counts(od.policy.unbounded(), max_groups=1), likely=True)
    assert (found - again).miss == Fraction(6, 20)
    together = od.certain(
        counts(od.policy.unbounded(), max_groups=1, simultaneous=True), likely=True
    )
    assert together.sum().confidence == "95 %, all at once"


def test_a_sum_of_numbers_from_0_is_at_least_0():
    """Whatever its noise, from a file as well; a sum that may fall below has no such bound."""
    people = pl.DataFrame({"person": range(9), "place": ["gym"] * 9, "cost": range(9)})
    session = od.Session(people, unit="person", policy=od.policy.addition_only(), budget=1000)
    asked = {"by": "place", "keys": ["gym", "bar"], "of": "units", "epsilon": 1, "max_groups": 1}
    for low, told in ((0, 0), (2, 0), (-1, None)):
        release = session.sum("cost", total_bounds=(low, 10), **asked)
        found = od.certain(release_from_json(release_to_json(release)))
        assert [one.lower for one in (row.sure for row in found.rows.values())] == [told] * 2
        assert found.sum().at_least(0) == ([()] if told == 0 else [])


def test_two_answers_about_one_number_tighten_each_other():
    one, two = od.certain(counts()), od.certain(counts())
    both = one.tightened(two)
    for label, found in both.rows.items():
        assert found.sure.upper == min(one.rows[label].sure.upper, two.rows[label].sure.upper)
    assert len(both.sources) == 2
    assert both.asked == one.asked


def test_one_question_is_known_in_any_order_and_spelling():
    """Of keys, of the columns that make groups, and of a condition's words."""
    session, keys = session_of(), {"place": ["a", "b"], "n": [1, 2]}
    asked = {"epsilon": 1, "where": "n<3 AND place <> 'c'"}
    one = od.certain(session.count(by=["place", "n"], keys=keys, **asked))
    asked["where"] = "n < 3 and (\"place\" <> 'c')"
    turned = {name: values[::-1] for name, values in reversed(keys.items())}
    two = od.certain(session.count(by=["n", "place"], keys=turned, **asked))
    both = one.tightened(two)
    assert (both.by, list(both.rows)) == (one.by, list(one.rows)) == (one.by, [("a", 1), ("b", 2)])
    for (place, n), found in both.rows.items():
        ends = (one.rows[place, n].sure.upper, two.rows[n, place].sure.upper)
        assert found.sure.upper == min(ends)
    for other in ({**asked, "where": "n < 2 AND place <> 'c'"}, {**asked, "unknown": "possible"}):
        apart = od.certain(session.count(by=["n", "place"], keys=turned, **other))
        with pytest.raises(ParameterError, match="the same numbers"):
            one.tightened(apart)


def made(sure, likely=(None, None)):
    rows = {(): row(sure, likely)}
    asked = ("a question",)
    return Bounds(about="x", by=(), rows=rows, sources=(), asked=asked, doubts=DOUBTS)


def test_bounds_that_contradict_each_other():
    with pytest.raises(ParameterError, match="contradict"):
        made((3, None)).tightened(made((None, 2)))
    crossed = made((None, None), (3, None)).tightened(made((None, 2)))
    assert crossed.rows[()].sure == interval(None, 2)
    assert "cross" in crossed.first[0]
    assert str(crossed).startswith("Likely bounds cross")
    ratio = made((1, 2)) / made((None, None), (1, None)).tightened(made((None, -1)))
    assert ratio.rows[()] == row((-2, 0))
    assert (1 / made((2, 4))).at_most("1/2") == [()]


def test_a_likely_bound_stands_beside_a_certain_one():
    """On every surface; choices and comparisons rest on what is certain."""
    found = made((0, 9)).tightened(made((None, None), (2, 4)))
    assert found.rows[()] == row((0, 9), (2, 4))
    told = found.table.columns()
    assert {side: told[side] for side in told if "certain" not in side} == {
        "lower": [0], "upper": [9], "likely_lower": [2], "likely_upper": [4]
    }  # fmt: skip
    assert (told["lower_certain"], told["upper_certain"]) == ([True], [True])
    assert (found.at_most(4), found.at_most(9), found.at_least(1)) == ([], [()], [])
    assert (found + 1).rows[()] == row((1, 10), (3, 5))
    assert (18 / (found + 1)).rows[()] == row(("9/5", 18), ("18/5", 6))
    assert found.certainly_less(5) == []
    for shown in (str(found), found._repr_html_()):
        assert "upper (certain)" in shown
        assert "likely_upper (95 %, all at once)" in shown
    assert str(found).split()[-4:] == ["0", "9", "2", "4"]


def test_chances_of_all_that_was_looked_at_are_joined():
    """A likely bound that says no more than a certain one was looked at as well."""
    other = replace(made((None, None), (None, 20)), doubts={"y": Fraction(1, 10)})
    found = made((0, 9)).tightened(other)
    assert (found.rows[()], found.miss, found.confidence) == (row((0, 9)), 0, "")
    assert found.table.columns()["likely_upper"] == [None]
    assert found.tightened(made((None, None), (None, 4))).miss == Fraction(3, 20)


def session_of(policy=None, **columns):
    table = pl.DataFrame(
        {"place": ["a"] * 3 + ["b"] * 4 + ["c"] * 5, "n": [1, 2, 3] * 4, **columns}
    )
    policy = od.policy.presence(max_groups=1) if policy is None else policy
    return od.Session(table, policy=policy, budget=10_000)


def test_answers_about_other_numbers_do_not_tighten_each_other():
    """Other keys, bins, cuts or conditions, what was computed, and what chose its own keys."""
    session = session_of()
    asked = {"by": "place", "epsilon": 60}
    every = od.certain(session.count(keys=["a", "b", "c"], **asked))
    others = [
        od.certain(session.count(keys=["a", "b"], **asked)),
        od.certain(session.count(keys=["a", "b", "c"], where="n = 1", **asked)),
        every.sum(),
        every * 1,
        every + 0,
        od.certain(session.top_k(3, keys=["a", "b", "c"], **asked)),
    ]
    for other in others:
        for one, two in ((every, other), (other, every), (every.sum(), other), (other, other * 1)):
            with pytest.raises(ParameterError, match="same numbers"):
                one.tightened(two)
    bins = [od.certain(session.histogram("n", bins=b, epsilon=60)) for b in ([0, 2, 4], [0, 2])]
    with pytest.raises(ParameterError, match="same numbers"):
        bins[0].tightened(bins[1])
    long = "n = 1 OR " + " OR ".join(f"n = {value}" for value in range(100, 160))
    one, two = (
        od.certain(session.count(epsilon=90, where=long + end))
        for end in (" OR n = 2", " OR n = 9")
    )
    with pytest.raises(ParameterError, match="same numbers"):
        one.tightened(two)


def test_cut_data_are_said_first_and_tighten_nothing_else():
    table = pl.DataFrame({"person": [0, 0, 1], "place": ["gym", "bar", "gym"]})
    asked = {"by": "place", "keys": ["gym", "bar"], "epsilon": 20}
    found = []
    for most in (1, 2):
        policy = od.policy.presence(max_groups=most)
        session = od.Session(table, unit="person", policy=policy, budget=1000)
        found.append(od.certain(session.count(**asked, on_excess="truncate")))
    cut, uncut = found
    assert any("cut" in words for words in cut.first)
    assert str(cut).startswith(cut.first[0])
    with pytest.raises(ParameterError, match="same numbers"):
        cut.tightened(uncut)


def test_rows_that_an_answer_chose_are_not_summed():
    """A sparse vector that stopped, the largest groups, compounds, found keys: no named set."""
    session = session_of()
    asked = {"by": "place", "epsilon": 90}
    stopped = od.certain(session.above(4, max_answers=1, keys=["c", "a", "b"], **asked))
    largest = od.certain(session.top_k(1, keys=["a", "b", "c"], **asked))
    compound = od.certain(session.above(5, max_answers=2, of={"x": ["a", "b", "c"]}, **asked))
    assert "at most 5" in compound.about
    removed = session_of(od.policy.removal_only())
    nothing = od.certain(removed.discover(by="place", epsilon="1/100"))
    whole = od.certain(session.count(keys=["a", "b", "c"], **asked))
    for one in (stopped, largest, compound, nothing, largest * 2, largest - 1):
        with pytest.raises(ParameterError, match="not all the keys"):
            one.sum()
    assert whole.sum().at_most(20) == [()]


def test_chances_of_several_answers_are_not_one():
    """Answers whose bounds hold all at once hold each by itself."""
    told = {}
    for week in range(3):
        session = od.Session(
            pl.DataFrame({"place": ["a"] * 30}), policy=od.policy.unbounded(), budget=100
        )
        told[str(week)] = session.count(
            by="place", keys=["a"], epsilon="1/2", confidence="1/2", simultaneous=True
        )
    series = od.Series(told)
    assert series.bound_words == "50 %, all at once in each"
    with pytest.raises(ParameterError, match="chances of its own"):
        od.certain(series, likely=True)
    joined = sum((od.certain(one, likely=True) for one in told.values()), 0)
    assert joined.miss == 1


@pytest.mark.parametrize("share", ["0.9999996", "0.99999999", "0.9499996", "0.95", 0.95, "2/3"])
def test_words_of_a_confidence_say_no_more_than_it_does(share):
    words = Confidence(share, simultaneous=False).words
    given = Fraction(str(share))
    miss, _ = miss_of(words)
    assert 1 - given <= miss <= 1 - given + Fraction(1, 10**6)
    assert words != "95 %" or given == Fraction(19, 20)


def test_answers_from_files_and_of_thresholds():
    release = release_from_json(release_to_json(counts()))
    assert od.certain(release).sum().at_most(70) == [()]
    table = pl.DataFrame({"person": range(9), "place": ["gym"] * 8 + ["bar"]})
    session = od.Session(table, unit="person", policy=od.policy.presence(max_groups=1), budget=1000)
    told = session.at_most(5, by="place", keys=["gym", "bar"], epsilon=100)
    found = od.certain(told)
    assert found.at_most(5) == ["bar"]
    assert found.about == "number of units (person) by place"


def test_what_does_not_match_is_refused():
    found = od.certain(counts())
    with pytest.raises(ParameterError, match="rows do not match"):
        found + Bounds(about="", by=("town",), rows={("x",): row((0, 1))}, sources=())
    with pytest.raises(ParameterError, match="no key"):
        found.sum(by="town")
    for number in (float("nan"), "x", None):
        with pytest.raises(ParameterError):
            found * number
        with pytest.raises(ParameterError):
            found.at_most(number)
    with pytest.raises(ParameterError, match="no bounds"):
        od.certain(replace(counts(), told=EMPTY))


def test_numbers_that_no_float_holds_are_rounded_outward():
    third = Bounds(about="", by=(), rows={(): row((1, 1))}, sources=()) / 3
    told = third.table.columns()
    assert Fraction(told["lower"][0]) <= Fraction(1, 3) <= Fraction(told["upper"][0])
    assert told["lower"][0] < told["upper"][0]


def asked_by(by, rows, *, cut="", others=False, measure="Number of rows", **more):
    """Counts by these columns, with intervals for each key."""
    statement = od.session.Statement(measure=measure, units="rows", by=by, others=others)
    asked = (statement, cut, by, tuple(rows), None)
    return Bounds(about="x", by=by, rows=rows, sources=(), asked=asked, **more)


def cells(table):
    """Bounds of the cells of a table of two columns; None is no bound."""
    return asked_by(
        ("a", "b"), {(i, j): row(one) for i, line in enumerate(table) for j, one in enumerate(line)}
    )


def margin(name, bounds):
    return asked_by((name,), {(i,): row(one) for i, one in enumerate(bounds)})


def bounds(found):
    return [(one.sure.lower, one.sure.upper) for one in found.rows.values()]


def test_a_group_is_at_most_its_margin():
    inner = cells([[(0, 9), (4, 9)], [(0, 2), (0, 9)]])
    outer = margin("a", [(1, 6), (0, 9)])
    assert bounds(inner.tightened(outer)) == [(0, 6), (4, 6), (0, 2), (0, 9)]
    assert bounds(outer.tightened(inner)) == [(4, 6), (0, 9)]
    assert bounds(inner.tightened(outer, apart=True)) == [(0, 2), (4, 6), (0, 2), (0, 9)]
    every = asked_by((), {(): row((0, 9))})
    assert bounds(every.tightened(inner, outer)) == [(4, 9)]


def test_of_what_was_cut_only_parts_are_bounded():
    inner, few = {(0, 0): row((3, 5))}, {(0,): row((0, 4))}
    cut = "every number and bound here is about data that may have been cut"
    part = asked_by(("a", "b"), inner, cut=cut)
    assert bounds(part.tightened(asked_by(("a",), few))) == [(3, 4)]
    for whole in (asked_by(("a",), few, cut=cut), asked_by(("a",), few, measure="Number of x")):
        with pytest.raises(ParameterError, match="Nothing says"):
            part.tightened(whole)
    with pytest.raises(ParameterError, match="contradict"):
        part.tightened(asked_by(("a",), {(0,): row((0, 2))}))


def test_all_that_is_not_listed_is_in_the_group_of_others():
    every = asked_by((), {(): row((7, 20))})
    for cut, others, apart, told in (
        ("", True, False, [(7, 9)]),
        ("", False, False, [(7, 20)]),
        ("Rows without a value of 'a' are in no group.", True, False, [(7, 20)]),
        ("", False, True, [(7, 20)]),
    ):
        rows = {(0,): row((1, 5)), (None,): row((2, 4))}
        part = asked_by(("a",), rows, cut=cut, others=others)
        assert bounds(every.tightened(part, apart=apart)) == told
    assert bounds(part.tightened(every)) == [(1, 5), (2, 4)]
    part = asked_by(("a",), {(0,): row((1, 5)), (None,): row((2, 4))}, others=True)
    assert bounds(part.tightened(every, apart=True)) == [(3, 5), (2, 4)]


@pytest.mark.parametrize("seed", range(40))
def test_bounds_of_a_table_are_as_tight_as_its_margins_allow(seed):
    """Beside all tables within the bounds, enumerated: two rows, three columns, both margins."""
    pytest.importorskip("scipy")
    random = np.random.default_rng(seed)
    true = random.integers(0, 3, (2, 3))
    low = np.maximum(true - random.integers(0, 2, true.shape), 0)
    high = true + random.integers(0, 3, true.shape)
    ends = [
        [(one - random.integers(0, 2), one + random.integers(0, 2)) for one in true.sum(axis)]
        for axis in (1, 0)
    ]
    grid = product(*(range(a, b + 1) for a, b in zip(low.flat, high.flat, strict=True)))
    tables = np.array(list(grid)).reshape(-1, 2, 3)
    given = [interval(int(a), int(b)) for a, b in zip(low.flat, high.flat, strict=True)]
    given += [interval(int(a), int(b)) for told in ends for a, b in told]
    for least, most in ((True, True), (True, False), (False, True)):
        fits = np.ones(len(tables), dtype=bool)
        for axis, told in zip((2, 1), ends, strict=True):
            fits &= (tables.sum(axis) <= [b for _, b in told]).all(1) if least else True
            fits &= (tables.sum(axis) >= [a for a, _ in told]).all(1) if most else True
        left = tables[fits]
        parts = [(0, 1, 2), (3, 4, 5), (0, 3), (1, 4), (2, 5)]
        sums = [Sum(6 + at, one, least=least, most=most) for at, one in enumerate(parts)]
        found = tightest(given, sums)[:6]
        ends_of = zip(left.min(0).flat, left.max(0).flat, strict=True)
        assert [(one.lower, one.upper) for one in found] == list(ends_of)
        without = [one for one in sums if one.whole == 6]
        for one, told in zip(tightest(given, without), found, strict=False):
            assert one.lower <= told.lower <= told.upper <= one.upper


def test_what_follows_from_likely_bounds_is_likely():
    inner = asked_by(("a",), {(0,): row((2, 9)), (1,): row((0, None), (1, 9))}, doubts=DOUBTS)
    every = asked_by((), {(): row((0, 5))})
    told = inner.tightened(every, apart=True)
    assert list(told.rows.values()) == [row((2, 5), (2, 4)), row((0, 3), (1, 3))]
    assert told.miss == Fraction(1, 20)


@pytest.mark.parametrize("seed", range(30))
def test_certain_and_likely_bounds_of_a_margin_are_as_tight_as_each_allows(seed):
    """Beside all numbers that fit, enumerated, once for each kind: a margin and three groups."""
    random = np.random.default_rng(seed)
    kinds = [[], []]
    for true in (4, 2, 1, 1):
        wide = (true - int(random.integers(0, 4)), true + int(random.integers(0, 4)))
        near = (max(wide[0], true - int(random.integers(0, 2))), wide[1])
        kinds[0].append(tuple(max(end, 0) for end in wide))
        kinds[1].append(tuple(max(end, 0) for end in near))
    whole, *parts = (row(*two) for two in zip(*kinds, strict=True))
    every = asked_by((), {(): whole}, doubts=DOUBTS)
    inner = asked_by(("a",), {(place,): one for place, one in enumerate(parts)}, doubts=DOUBTS)
    told = [*every.tightened(inner, apart=True).rows.values(),
            *inner.tightened(every, apart=True).rows.values()]  # fmt: skip
    for at, kind in enumerate(kinds):
        grid = product(*(range(low, high + 1) for low, high in kind))
        fits = np.array([one for one in grid if sum(one[1:]) <= one[0]])
        ends = [(one[at].lower, one[at].upper) for one in told]
        assert ends == list(zip(fits.min(0).tolist(), fits.max(0).tolist(), strict=True))


def test_published_margins_and_cells_bound_each_other():
    visits = pl.DataFrame({"u": range(12), "a": [0, 1] * 6, "b": [0, 1, 2] * 4}).drop_nulls()
    session = od.Session(visits, unit="u", policy=od.policy.presence(max_groups=1), budget=10**4)
    by = {"by": ["a", "b"], "keys": list(product(range(2), range(3))), "epsilon": "1/2"}
    for _ in range(5):
        inner = od.certain(session.count(**by, max_groups=1))
        outer = od.certain(session.count(by="a", keys=[0, 1], epsilon="1/2"))
        told = outer.tightened(inner, apart=True)
        for (key,), one in told.rows.items():
            assert 0 <= one.sure.lower <= 6 <= one.sure.upper <= outer.rows[key,].sure.upper
        for label, one in inner.tightened(outer, apart=True).rows.items():
            assert one.sure.lower <= 2 <= one.sure.upper <= told.rows[label[:1]].sure.upper
    cut = od.certain(session.count(by="a", keys=[0, 1], epsilon=1, on_excess="truncate"))
    with pytest.raises(ParameterError, match="Nothing says"):
        inner.tightened(cut)


def test_open_units_of_two_policies_are_other_units():
    people = pl.DataFrame(
        {"u": range(20), "age": [10] * 10 + [30] * 10, "ok": [True] * 15 + [False] * 5}
    )
    told = [
        od.certain(
            od.Session(people, unit="u", policy=od.policy.sensitive(who), budget=100).count(
                epsilon=90, counted="open"
            )
        )
        for who in ("age < 18", "not ok")
    ]
    with pytest.raises(ParameterError, match="policies of these answers differ"):
        told[0].tightened(told[1])
    plain = [
        od.certain(od.Session(people, unit="u", policy=policy, budget=100).count(epsilon=90))
        for policy in (od.policy.addition_only(), od.policy.removal_only())
    ]
    assert [one.sure.lower for one in plain[1].tightened(plain[0]).rows.values()] == [20]
    with pytest.raises(ParameterError, match="published answer"):
        od.certain(plain[0])
    with pytest.raises(ParameterError, match="public numbers alone"):
        plain[0] * plain[1]


def asked_of(data, *, policy=None, **more):
    return od.Session(data, policy=policy or od.policy.addition_only(), budget=1000, **more)


def test_answers_whose_words_are_alike_and_whose_questions_are_not_are_never_tightened():
    """How text was read, first dates, kinds of a view, ends of bins: each was a false bound."""
    text = pl.DataFrame({"u": ["1", "2"], "d": ["01/02/2026", "03/02/2026"], "p": ["ja", "nein"]})
    kinds = {"u": od.column("text"), "p": od.column("text")}
    days = [kinds | {"d": od.column("date", date=f)} for f in ("%d/%m/%Y", "%m/%d/%Y")]
    words = [kinds | {"p": od.column("text", missing=one)} for one in (["ja"], None)]
    groups = {"by": "p", "keys": ["ja"], "max_groups": 1, "on_excess": "error", "epsilon": 1}
    pairs = [
        [asked_of(text, schema=od.Schema(unit="u", columns=own)).count(**question) for own in two]
        for two, question in (
            (days, {"where": "d < DATE '2026-01-15'", "epsilon": 1}),
            (words, groups),
        )
    ]
    latest = {"where": "last >= DATE '2026-02-15'", "epsilon": 1}
    pairs.append(
        [
            asked_of(text, schema=od.Schema(unit="u", columns=own))
            .per_unit(last=("max", "d"))
            .count(**latest)
            for own in days
        ]
    )
    homes = pl.DataFrame({"u": [1, 2], "hh": [1, 2], "a": [True, False], "b": [True, True]})
    views = [od.policy.view(one, over="hh", members=1) for one in "ab"]
    pairs.append(
        [asked_of(homes, policy=one, unit="u").count(counted="open", epsilon=1) for one in views]
    )
    bins = ({"bins": 2, "bounds": (0, 10)}, {"bins": [0, 5, 10]})
    numbers = asked_of(pl.DataFrame({"x": [0, 5, 10, 10]}))
    pairs.append([numbers.histogram("x", **one, epsilon=1) for one in bins])
    assert "the last with its end" in pairs[-1][0].title
    visits = pl.DataFrame(
        {"u": [1, 1, 2], "day": [DAY, DAY + ONE, DAY], "p": ["bar", "gym", "bar"]}
    )
    schema = od.Schema(unit="u", columns={"day": od.column("date", required=True)})
    first = od.Calendar("day", max_cohorts=1, complete=True)
    by = {"max_groups": 2, "on_excess": "error", "epsilon": 1}
    cut = asked_of(visits, schema=schema, cohort=first).count(by="p", keys=["gym"], **by)
    keys = od.cross(p=["gym"], day=[DAY, DAY + ONE])
    pairs.append([cut, asked_of(visits, schema=schema).count(by=["p", "day"], keys=keys, **by)])
    for one, two in pairs:
        for mine, its in ((one, two), (two, one)):
            read = release_from_json(release_to_json(its))
            for other in (its, read):
                with pytest.raises(ParameterError, match=r"the same numbers|policies of these"):
                    od.certain(mine).tightened(od.certain(other))


def test_answers_about_cut_units_are_tightened_within_one_session_alone():
    """Which groups of a unit count is a hash of the engine's: another's bounds are of others."""
    data = pl.DataFrame({"u": [1, 1, 2, 2], "p": ["a", "b", "a", "b"]})
    cut = {"by": "p", "keys": ["a", "b"], "max_groups": 1, "on_excess": "truncate", "epsilon": 60}
    here, there = (asked_of(one, unit="u") for one in (data, data.to_pandas()))
    mine = here.count(**cut)
    own = od.certain(mine).tightened(od.certain(here.count(**cut)))
    assert own.sum().at_most(2) == [()]
    read = release_from_json(release_to_json(here.count(**cut)))
    turned = here.count(**{**cut, "keys": ["b", "a"]})  # whose first groups are others
    for other in (there.count(**cut), read, turned):
        with pytest.raises(ParameterError, match="other groups of theirs"):
            od.certain(mine).tightened(od.certain(other))


def test_a_noun_does_not_hide_whose_rows_are_a_unit():
    data = pl.DataFrame({"person": [1, 2, 3], "card": [1, 1, 1]})
    schema = od.Schema(noun=("visitor", "visitors"))
    persons, cards, rows = (
        asked_of(data, unit=unit, schema=schema).count(epsilon=60)
        for unit in ("person", "card", None)
    )
    for other in (cards, rows):
        read = od.certain(release_from_json(release_to_json(other)))
        with pytest.raises(ParameterError, match="the same numbers"):
            od.certain(persons).tightened(read)


def test_bins_with_their_end_are_those_of_the_same_bins_alone():
    """Bin 2 to 3 holds 3 as the last of 0 to 3, and does not as the second of 1 to 4."""
    data = pl.DataFrame({"u": [1, 2], "p": ["a", "a"], "x": [3, 3]})
    session, one = asked_of(data, unit="u"), {"max_groups": 1, "on_excess": "error"}
    parts, whole = (
        session.histogram("x", bins=3, bounds=bounds, epsilon=60, **more, **one)
        for bounds, more in (((0, 3), {"by": "p", "keys": ["a"]}), ((1, 4), {}))
    )
    with pytest.raises(ParameterError, match="from 0 to 3"):
        od.certain(parts).tightened(od.certain(whole))
    assert od.certain(whole).rows[1.0, 2.0].sure.lower == 0


def test_scopes_of_sides_are_of_both_where_sides_were_turned():
    """Of a difference the lower bound rests on an upper one: it is about what is recorded, too."""
    rows = pl.DataFrame({"x": [None] * 5 + [1] * 6})
    every, some = (
        od.certain(od.Session(rows, policy=policy, budget=100).count(epsilon=60, **asked))
        for policy, asked in (
            (od.policy.removal_only(), {}),
            (od.policy.addition_only(), {"where": "x > 0", "unknown": "recorded"}),
        )
    )
    assert (every - some).at_least(5)  # of those with x > 0 in truth it could be 0
    for turned in (every - some, 9 - some, every / some, -some * 2, every + -1 * some, some / -2):
        told = " ".join(turned.first)
        assert "A certain bound is about what is recorded." in told
        assert "upper bound" not in told
    for kept in (some, some + 1, 2 * some, every + some, some / 11):
        assert "A certain upper bound is about what is recorded." in " ".join(kept.first)
