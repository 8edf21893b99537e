"""Answers side by side: one question, one policy, the same keys; their losses are added up."""

import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.session import Series, release_from_json, release_to_json, total_guarantee

KEYS = ["gym", "bar", "spa"]
PRESENCE = od.policy.presence(max_groups=2)
ROWS = pl.DataFrame(
    {
        "person": [n // 2 for n in range(80)],
        "place": [KEYS[n % 2] for n in range(80)],
        "week": [1 + n // 40 for n in range(80)],
        "age": [n % 60 for n in range(80)],
    }
)
PLACE = {"by": "place", "keys": KEYS}


def session(policy=PRESENCE, ledger=None, rows=ROWS):
    return od.Session(rows, unit="person", policy=policy, budget=1000, ledger=ledger)


def weeks(epsilon=40, **more):
    """The answers of two weeks, each about its own table, on one ledger."""
    ledger = od.Ledger.open(None)
    tables = [ROWS.filter(pl.col("week") <= week) for week in (1, 2)]
    told = [
        session(ledger=ledger, rows=one).count(**PLACE, epsilon=epsilon, **more) for one in tables
    ]
    return ledger, {"week 1": told[0], "week 2": told[1]}


def refused(releases, match, error=errors.ParameterError):
    with pytest.raises(error, match=match) as found:
        od.Series(releases)
    assert found.value.hint


def test_what_they_cost_together_is_what_their_ledger_says():
    ledger, answers = weeks()
    series, total = od.Series(answers), total_guarantee(ledger)
    assert series.guarantee.epsilon == total.epsilon == {"present -> not present": Fraction(80)}
    assert series.guarantee.delta == total.delta
    assert series.guarantee.made_for.identity == PRESENCE.identity
    assert "the sum of 2 answers, edge by edge" in series.guarantee.promise
    assert len(ledger.entries(kind="spend")) == 2


def test_losses_are_added_on_each_edge_with_their_delta():
    policy = od.policy.unbounded()
    made = od.Session(ROWS, unit="person", policy=policy, budget=99, delta_budget="1/10")
    asked = {"by": "place", "max_groups": 2, "on_excess": "error", "epsilon": 9}
    one, two = (made.count(keys=KEYS, **asked) for _ in range(2))
    assert set(od.Series([one, two]).guarantee.epsilon.values()) == {18}
    loose = [
        release_from_json(
            release_to_json(one).replace('"record -> absent":"0"', f'"record -> absent":"{d}"')
        )
        for d in ("1/100", "1/1000")
    ]
    delta = od.Series(loose).guarantee.delta
    assert delta["record -> absent"] == Fraction(11, 1000)
    assert delta["absent -> record"] == 0
    assert "δ 0.01" in od.Series(loose)._repr_html_()


def test_every_number_stands_where_its_own_release_has_it():
    _, answers = weeks()
    series = od.Series(answers)
    frame = series.frame
    for name, one in answers.items():
        part = frame.filter(pl.col("answer") == name).drop("answer")
        assert part.to_dict(as_series=False) == one.columns()
    assert series.labels[:3] == [(key, "week 1") for key in KEYS]
    panels = series.shape()
    for place, key in enumerate(KEYS):
        shown = panels.group(place)
        assert (panels.labels[place], shown.labels) == (key, ["week 1", "week 2"])
        assert shown.estimate.tolist() == [one.estimate[place] for one in answers.values()]
        assert shown.upper.values.tolist() == [one.upper[place] for one in answers.values()]
        assert (shown.upper.certain.all(), shown.lower.certain.any()) == (True, False)
    assert release_from_json(release_to_json(series)).columns() == series.columns()


def test_certain_bounds_and_likely_ones_are_told_apart_on_every_surface(tmp_path):
    _, answers = weeks()
    series = od.Series(answers)
    out = series.write(tmp_path / "out", formats=["csv", "json", "parquet", "xlsx", "html"])
    page, seen = (out / "release.html").read_text(), series._repr_html_()
    gym = answers["week 2"]
    said = f"at least {gym.lower[0]} (95 %), at most {gym.upper[0]} (certain)"
    for told in (page, seen, str(series)):
        assert said in told
        assert "ε = 80" in told
    for drawn in (page, seen):
        assert "upper bound (certain)" in drawn
        assert "lower bound (95 %)" in drawn
        assert "week 1: ε = 40 on present -" in drawn
    assert "2 answers side by side" in page
    assert json.loads((out / "guarantee.json").read_text())["statement"]["parts"][1]["entry"] == 4
    figure = series.plot(backend="plotly")
    assert "gym · week 1" in figure.layout.yaxis.ticktext


def test_a_where_may_differ_and_then_names_its_column():
    made = session()
    told = [made.count(**PLACE, epsilon=9, where=f"week = {week}") for week in (1, 2)]
    series = od.Series({"first": told[0], "second": told[1]})
    names = ["first, where week = 1", "second, where week = 2"]
    assert list(series.side_by_side.roles) == ["place", *names]
    assert series.shape().times == list(series.parts) == names
    assert "week = " not in series.title
    assert [one.where for one in series.statement.parts] == ["week = 1", "week = 2"]
    with pytest.raises(errors.ParameterError, match="each with a name"):
        od.Series([told[0], told[0]])
    alike = od.Series([told[0], made.count(**PLACE, epsilon=9, where="week = 1")])
    assert list(alike.side_by_side.roles) == ["place", "1", "2"]
    assert "week = 1" in alike.title


def test_long_conditions_stand_whole_and_titles_and_names_hide_no_column():
    made = session()
    long = " OR ".join(f"week = {week}" for week in range(3, 40))
    told = [made.count(**PLACE, epsilon=9, where=f"{long} OR week = {n}") for n in (77, 88)]
    series = od.Series({"a": told[0], "b": told[1]})
    for said in (str(series), series.page(series.table).html(), series.statement.whole()):
        assert ("week = 77" in said) == ("week = 88" in said)
    assert all("week = 88" in one for one in (str(series), " ".join(series.statement.sentences())))
    titled = [made.count(**PLACE, epsilon=9, where=f"week = {n}", title="Ill") for n in (1, 2)]
    assert list(od.Series(titled).parts) == ["1, where week = 1", "2, where week = 2"]
    named = od.Series(
        {"place": made.count(**PLACE, epsilon=9), "b": made.count(**PLACE, epsilon=9)}
    )
    assert list(named.side_by_side.columns()) == ["place", "place (answer)", "b"]


def test_what_was_cut_is_said_with_the_answer_that_was_cut():
    added = od.policy.addition_only()
    asked = {**PLACE, "epsilon": 9, "max_groups": 1}
    whole = session(added).count(**{**asked, "max_groups": 2}, on_excess="error")
    cut = session(added).count(**asked, on_excess="truncate")
    series = od.Series({"whole": whole, "cut": cut})
    assert "cut: Rows" in series.cut or "cut: Units" in series.cut
    assert cut.guarantee.scope in series.guarantee.scope


def test_other_questions_keys_and_kinds_are_refused_by_name():
    made, (_, answers) = session(), weeks()
    count = answers["week 1"]
    refused({"a": count, "b": made.count(epsilon=1)}, "'b' is a .*two questions")
    refused([count, made.at_most(3, **PLACE, epsilon=1)], "two questions")
    other = made.count(by="place", keys=["gym", "bar", "pool"], epsilon=1)
    refused([count, other], "'2' and '1' differ in their keys: 'pool'")
    turned = made.count(by="place", keys=KEYS[::-1], epsilon=1)
    refused([count, turned], "their order")
    refused([made.ask_all([od.Count(epsilon=1), od.Count(epsilon=1)])], "no numbers by key")
    refused([od.Series([count])], "a Series and no answer")
    refused([release_from_json(release_to_json(od.Series([count])))], "a Series and no answer")
    refused([count, 3], "'2' of the series is an int")
    refused([], "1 to 1,000 answers")
    refused({1: count, "1": count}, "name of its own")
    refused("week 1", "got a str")
    with pytest.raises(errors.ParameterError, match="not on a map"):
        od.Series([count]).plot(positions=[(0, 0)] * 3)


def test_other_policies_are_refused_whatever_their_edges_are_called():
    _, answers = weeks()
    count = answers["week 1"]
    wider = session(od.policy.presence(max_groups=3)).count(**PLACE, epsilon=1)
    refused([count, wider], "with other parameters", errors.PolicyError)
    read = [release_from_json(release_to_json(one)) for one in (count, wider)]
    refused([read[0], count, wider], "with other parameters", errors.PolicyError)
    everybody = session(od.policy.addition_only())
    added = everybody.count(**PLACE, epsilon=1, max_groups=2, on_excess="error")
    refused([count, added], "'addition_only', and", errors.PolicyError)
    # A file holds no more than the policy's name, and the sum says under which condition it holds.
    assert "the sum holds if" in str(od.Series(read))
    assert "the sum holds if" not in str(od.Series(answers))


def test_answers_from_files_and_the_ledger_stand_beside_those_of_today():
    made = session(ledger=od.Ledger.open(None))
    asked = {**PLACE, "epsilon": 9}
    first, second, third = (made.count(**asked, id=day) for day in ("mon", "tue", "wed"))
    again = made.count(**asked, id="tue", again=True)
    read = release_from_json(release_to_json(third))
    series = od.Series({"drawn": first, "told": again, "read": read})
    for one, other in zip(series.releases, (first, second, third), strict=True):
        assert one.upper.tolist() == other.upper.tolist()
    where = f"ledger entry {second.entry}, drawn {again.drawn[:10]}."
    said = f"told: ε = 9 on present -> not present; {where}"
    assert said in series.page(series.table).lines
    assert isinstance(series, Series)


def test_answers_without_keys_and_those_with_bounds_alone_have_a_line():
    made = session()
    total = od.Series([made.count(epsilon=9), made.count(epsilon=9)])
    assert total.shape().labels == ["all"]
    sure = [made.at_most(90, **PLACE, epsilon=9) for _ in range(3)]
    series = od.Series(sure)
    assert 'class="plot-area"' in str(series.plot())
    assert "at most 90 (certain)" in series.side_by_side.columns()["3"][0]
    assert np.isnan(series.shape().dots.estimate).all()
    assert series.plot(at_most=90)


def test_names_of_others_run_nowhere(tmp_path):
    hostile = '<img src=x onerror=alert(1)>"&\x1b[31m'
    _, answers = weeks()
    series = od.Series({hostile: answers["week 1"], "week 2": answers["week 2"]})
    page = series.write(tmp_path / "out", formats=["html", "csv"]) / "release.html"
    for told in (page.read_text(), series._repr_html_(), str(series.plot())):
        assert "<img" not in told
        assert "\x1b" not in told
    assert "\x1b" not in str(series)
    assert "<img" not in series.plot(backend="plotly").to_json().replace("\\u003c", "<")


def test_an_answer_told_again_does_not_stand_beside_itself():
    made = session()
    first = made.count(**PLACE, epsilon=40, id="week")
    again = made.count(**PLACE, epsilon=40, id="week", again=True)
    read = release_from_json(release_to_json(again))
    for pair in ({"one": first, "two": again}, {"one": again, "two": read}):
        refused(pair, "told again: entry 1|told again: entry 2")
    other = session().count(**PLACE, epsilon=40, id="week")  # entry of another ledger
    assert len(od.Series({"one": first, "two": other}).releases) == 2


def test_units_that_are_called_alike_are_not_added_up():
    tables = {}
    for unit in ("person", "home"):
        schema = od.Schema(unit=unit, noun=("person", "people"))
        rows = ROWS.rename({"person": unit})
        made = od.Session(rows, schema=schema, policy=PRESENCE, budget=99)
        tables[unit] = made.count(**PLACE, epsilon=40)
    refused(tables, "protect home and person", errors.PolicyError)
