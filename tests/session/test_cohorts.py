"""Accounts by cohort: which dates a question is charged to, and what is promised of them."""

import datetime as dt
from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest

import onesided as od
from onesided import errors, policy
from onesided.accounting import charge_divergences
from onesided.ledger import Cohorts, _account, _entry, _terms

FIRST_TWO = od.Calendar("day", max_cohorts=2, complete=True)
DAYS = [dt.date(2026, 1, day) for day in range(1, 6)]
EDGE = {"addition": "record -> absent", "bounded": "record -> record"}


def visits(dates=DAYS):
    rows = [(p, f"place {(p + n) % 3}", day) for n, day in enumerate(dates) for p in range(4)]
    return pl.DataFrame(rows, schema=["person", "place", "day"], orient="row")


def on(day, epsilon="1/2", **more):
    return od.Count(where=f"day = DATE '{day}'", epsilon=epsilon, **more)


def opened(which, *, data=None, unit=None, budget=1, cohort="day", **more):
    data = visits() if data is None else data
    return od.Session(data, policy=which, unit=unit, budget=budget, cohort=cohort, **more)


def left(session, day):
    found = [one for one in session.by_cohort if one.dates.holds(day)]
    (one,) = found
    return next(iter(one.remaining.values()))


def test_each_date_pays_for_itself_alone():
    session = opened(policy.addition_only())
    for day in DAYS:
        session.ask(on(day, 1))
    assert left(session, DAYS[0]) == 0
    assert left(session, dt.date(2030, 1, 1)) == 1
    with pytest.raises(errors.BudgetExceededError, match="day 2026-01-03: asked 1/9, 0 left") as e:
        session.ask(on(DAYS[2], "1/9"))
    assert e.value.values["cohort"] == "2026-01-03"
    assert session.ledger.check().charges == 5


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("day = DATE '2026-01-03'", "2026-01-03"),
        ("day IN (DATE '2026-01-03', DATE '2026-01-05')", "2026-01-03, 2026-01-05"),
        ("day IN (DATE '2026-01-03', DATE '2026-01-04')", "2026-01-03 to 2026-01-04"),
        ("day >= DATE '2026-01-03' AND day < DATE '2026-02-01'", "2026-01-03 to 2026-01-31"),
        ("day > DATE '2026-01-03' AND place = 'place 1'", "since 2026-01-04"),
        ("day BETWEEN DATE '2026-01-03' AND DATE '2026-01-04'", "2026-01-03 to 2026-01-04"),
        ("day IS NULL", "unknown dates"),
        ("day IS NULL OR day <= DATE '2026-01-03'", "until 2026-01-03, unknown dates"),
        ("day <> DATE '2026-01-03'", "all dates, those to come and unknown ones too"),
        ("EXTRACT(YEAR FROM day) = 2026", "all dates, those to come and unknown ones too"),
        ("place = 'place 1'", "all dates, those to come and unknown ones too"),
        ("day = DATE '2026-01-03' OR person = 1", "all dates, those to come and unknown ones too"),
        ("NOT day = DATE '2026-01-03'", "all dates, those to come and unknown ones too"),
    ],
)
def test_the_dates_are_read_from_the_condition(where, told):
    session = opened(policy.addition_only())
    plan = session.plan(od.Count(where=where, epsilon=1))
    assert str(plan.cohorts) == told
    assert f"Paid by {told}: " in str(plan)


def test_rows_that_may_count_are_paid_for_too():
    possible = od.Count(where="day = DATE '2026-01-03'", unknown="possible", epsilon=1)
    session = opened(policy.addition_only())
    assert str(session.plan(possible).cohorts) == "2026-01-03, unknown dates"
    schema = od.Schema(columns={"day": od.column("date", required=True)})
    sure = opened(policy.addition_only(), schema=schema)
    assert str(sure.plan(possible).cohorts) == "2026-01-03"


def test_public_keys_name_dates():
    session = opened(policy.addition_only())
    by = od.Count(by="day", keys=DAYS[:2], epsilon=1)
    assert str(session.plan(by).cohorts) == "2026-01-01 to 2026-01-02"
    both = od.Count(by="day", keys=DAYS[:2], where="day > DATE '2026-01-01'", epsilon=1)
    assert str(session.plan(both).cohorts) == "2026-01-02"
    others = od.Count(by="day", keys=DAYS[:2], others=True, epsilon=1)
    assert session.plan(others).cohorts.all


def test_a_question_about_all_dates_is_charged_to_those_to_come():
    session = opened(policy.addition_only())
    session.ask(od.Count(epsilon="3/4"))
    for day in (DAYS[0], dt.date(2040, 1, 1)):
        assert left(session, day) == Fraction(1, 4)
        with pytest.raises(errors.BudgetExceededError):
            session.ask(on(day, "1/2"))
    session.ask(on(DAYS[0], "1/4"))
    with pytest.raises(errors.BudgetExceededError, match="day 2026-01-01"):
        session.ask(od.Count(epsilon="1/9"))


def test_where_a_record_may_change_its_date_leaving_and_entering_add_up():
    session = opened(policy.bounded())
    places = {"by": "place", "keys": ["place 0", "place 1"]}
    plan = session.plan(on(DAYS[0], 1, **places))
    half = {EDGE["bounded"]: Fraction(1, 2)}
    assert (plan.cohorts.left, plan.cohorts.entered) == (half, half)
    for day in DAYS:
        session.ask(on(day, 1, **places))  # half to leave and half to enter, of any two dates
    with pytest.raises(errors.BudgetExceededError):
        session.ask(on(dt.date(2026, 2, 1), "2/3"))  # of one cell, so each end costs all of it
    # What tells nothing of the two ends is charged whole at both.
    other = opened(policy.bounded())
    mean = {"bounds": (0, 3), "where": f"day = DATE '{DAYS[0]}'", "epsilon": "3/4"}
    other.sum("person", **mean)
    with pytest.raises(errors.BudgetExceededError):
        other.sum("person", **{**mean, "where": f"day = DATE '{DAYS[1]}'"})
    assert session.ledger.check().charges == 5


def test_units_with_several_dates_pay_the_sum_unless_said():
    session = opened(policy.addition_only(), unit="person")
    plan = session.plan(on(DAYS[0]))
    assert plan.cohorts.all
    assert "max_cohorts" in plan.paying
    assert session.account.calendar.times == 1


@pytest.mark.parametrize(
    ("which", "most", "times"),
    [
        (policy.addition_only(), 2, 2),
        (policy.unbounded(), 2, 2),
        (policy.bounded(), 2, 4),
        (policy.presence(max_groups=1), "unbounded", None),
        (policy.addition_only(), "unbounded", None),
    ],
)
def test_a_unit_in_m_dates_pays_m_times(which, most, times):
    calendar = od.Calendar("day", max_cohorts=most, complete=most != "unbounded")
    session = opened(which, unit="person", cohort=calendar)
    for day in DAYS:
        session.ask(on(day, 1))
    assert session.account.calendar.times == times
    said = session.account.calendar.promise
    assert "A unit with records of m dates pays m times" in said
    whole = session.total(delta="1e-6").budget
    together = od.session.total_guarantee(session.ledger, of="budget")
    for told in (whole, together):
        assert told.headline == (od.INFINITE if times is None else times)
    # What was spent is told of somebody who is in all of it.
    assert od.session.total_guarantee(session.ledger).headline == 5


def test_units_are_cut_to_their_first_dates(engine):
    dates = [DAYS[2], DAYS[0], DAYS[1], DAYS[0], None, DAYS[3], None]
    people = [1, 1, 1, 1, 1, 2, 2]
    data = engine({"person": people, "day": dates})
    noise = od.noise.NotPrivateSeededNoise(0)

    def counted(most, where):
        session = opened(
            policy.addition_only(),
            data=data,
            unit="person",
            budget=10**6,
            noise=noise,
            cohort=od.Calendar("day", max_cohorts=most, complete=True),
        )
        release = session.count(where=where, epsilon=900)
        assert f"{most if most > 1 else ''} first 'day' alone count".strip() in release.cut
        return int(release.estimate[0])

    days = [f"day = DATE '{day}'" for day in DAYS[:4]] + ["day IS NULL"]
    assert [counted(1, where) for where in days] == [1, 0, 0, 1, 0]
    assert [counted(2, where) for where in days] == [1, 1, 0, 1, 1]
    assert [counted(4, where) for where in days] == [1, 1, 1, 1, 2]


def test_first_dates_need_a_table_that_is_declared_complete(place):
    """Of a table without earlier rows they are others, and a unit is charged for all."""
    data = pl.DataFrame({"person": [1, 1], "day": DAYS[:2]})
    calendar = od.Calendar("day", max_cohorts=1)
    with pytest.raises(errors.ParameterError, match="complete=True"):
        opened(policy.addition_only(), data=data, unit="person", cohort=calendar)
    whole = od.Calendar("day", max_cohorts=1, complete=True)
    found = []
    for rows in (data, data[1:]):  # the second table is not what was declared
        session = opened(
            policy.addition_only(), data=rows, unit="person", budget=900, cohort=whole, ledger=place
        )
        found += [int(session.ask(on(day, 60)).estimate[0]) for day in DAYS[:2]]
    assert found == [1, 0, 0, 1]
    assert session.account.calendar.complete
    assert "as is declared" in session.account.calendar.promise
    told = 'cohort = {column = "day", max_cohorts = 1, complete = true}\n'
    declared = od.Schema.from_toml(f'unit = "person"\n{told}[columns.day]\ntype = "date"\n')
    session = opened(policy.addition_only(), data=data, unit="person", cohort=None, schema=declared)
    assert session.account.calendar == whole
    for flag in ("yes", 1, None):
        with pytest.raises(errors.ParameterError, match="True or False"):
            od.Calendar("day", complete=flag)


def test_presence_by_place_is_not_parted_by_date():
    """Dropping a place drops it on every day: only dates that are dropped themselves share."""
    session = opened(policy.presence(max_groups=2), unit="person")
    by_place = od.Count(
        by="place", keys=["place 1"], where="day = DATE '2026-01-01'", epsilon="1/2"
    )
    assert session.plan(by_place).cohorts.all
    by_day = od.Count(by="day", keys=DAYS, epsilon=1)
    assert str(session.plan(by_day).cohorts) == "2026-01-01 to 2026-01-05"
    session.ask(by_day)
    # One cell of the two that its price covers: two of them would lose twice a share.
    assert session.plan(od.Count(by="day", keys=DAYS[:1], epsilon=1)).cohorts.all


def test_several_questions_pay_for_the_dates_of_all():
    session = opened(policy.addition_only())
    parts = [on(day, 1) for day in DAYS]
    plan = session.plan(od.Several(parts, disjoint=True))
    assert str(plan.cohorts) == "2026-01-01 to 2026-01-05"
    assert plan.guarantee.headline == 1
    session.ask(od.Several(parts, disjoint=True))
    assert session.remaining == {EDGE["addition"]: Fraction(0)}
    assert left(session, dt.date(2026, 2, 1)) == 1
    one_without = od.Several([on(DAYS[0]), od.Count(epsilon="1/2")])
    assert session.plan(one_without).cohorts.all


def test_what_is_made_of_rows_is_charged_to_all_dates():
    session = opened(
        policy.addition_only(),
        unit="person",
        cohort=od.Calendar("day", max_cohorts=5, complete=True),
    )
    people = session.per_unit(last=("max", "day"))
    assert people.plan(od.Count(where="last = DATE '2026-01-01'", epsilon=1)).cohorts.all


def test_a_view_and_a_discovery_are_charged_to_all_dates():
    data = visits().with_columns(home=pl.col("person") // 2)
    homes = policy.view("person = 0", over="home", members=2)
    session = opened(homes, data=data)
    assert session.plan(on(DAYS[0], counted="open")).cohorts.all
    rows = opened(policy.removal_only())
    found = od.Discover(by="place", where=f"day = DATE '{DAYS[0]}'", epsilon="1/2")
    assert rows.plan(found).cohorts.all


def page(day):
    return od.AtMost(
        40, by="place", keys=[f"place {n}" for n in range(3)], epsilon="1/4",
        where=f"day = DATE '{day}'", id=day.isoformat(),
    )  # fmt: skip


def test_a_daily_page_for_a_year():
    """ε = 1/4 a day and a budget of 7/2: without cohorts day 15 is refused."""
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=n) for n in range(365)]
    data, which = visits(days), policy.presence(max_groups=3)
    schema = od.Schema(columns={"day": od.column("date", required=True)})
    whole = opened(which, data=data, unit="person", budget="7/2", cohort=None)
    for day in days[:14]:
        whole.ask(page(day))
    with pytest.raises(errors.BudgetExceededError):
        whole.ask(page(days[14]))
    calendar = od.Calendar("day", max_cohorts="unbounded")
    dated = opened(which, data=data, unit="person", budget="7/2", cohort=calendar, schema=schema)
    for day in days:
        dated.ask(page(day))
    assert left(dated, days[0]) == left(dated, days[-1]) == Fraction(13, 4)
    assert dated.ledger.check().charges == 365
    assert dated.ask(replace(page(days[9]), again=True)).told_again
    # Without required=True a row without a date may count on each day, and pays for it.
    unsure = opened(which, data=data, unit="person", budget="1/4", cohort=calendar)
    unsure.ask(page(days[0]))
    with pytest.raises(errors.BudgetExceededError, match="unknown dates") as caught:
        unsure.ask(page(days[1]))
    assert "required" in caught.value.hint


def test_a_schema_declares_the_cohort(tmp_path):
    text = """
unit = "person"
[cohort]
column = "day"
max_cohorts = "unbounded"
ends = 700
[cohort.schedule]
0 = "1/2"
30 = 1
[columns.day]
type = "date"
"""
    schema = od.Schema.from_toml(text)
    assert od.Schema.from_toml(schema.to_toml()) == schema
    session = od.Session(visits(), policy=policy.addition_only(), budget=1, schema=schema)
    calendar = session.account.calendar
    assert (calendar.column, calendar.ends, calendar.times) == ("day", 700, None)
    assert calendar.steps == ((0, Fraction(1, 2)), (30, Fraction(1)))
    plain = od.Schema.from_toml('cohort = "day"\n[columns.day]\ntype = "date"\n')
    assert (
        opened(policy.addition_only(), cohort=None, schema=plain).account.calendar.column == "day"
    )
    assert "a budget for each date in 'day'" in plain.explain()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('cohort = "day"', "not declared as a date"),
        ('cohort = "day"\n[columns.day]\ntype = "text"', "not declared as a date"),
        ("cohort = 3", "cohort is 3"),
        ('[cohort]\nends = 3\n[columns.day]\ntype = "date"', "cohort is"),
        ('[cohort]\ncolumn = "day"\nlives = 9\n[columns.day]\ntype = "date"', "cohort is"),
    ],
)
def test_a_schema_refuses_what_is_no_cohort(text, said):
    with pytest.raises(errors.SchemaError, match=said):
        od.Schema.from_toml(text)


@pytest.mark.parametrize(
    ("cohort", "which", "unit", "error"),
    [
        ("nothing", policy.addition_only(), None, errors.UnknownColumnError),
        ("place", policy.addition_only(), None, errors.DataError),
        (7, policy.addition_only(), None, errors.ParameterError),
        (FIRST_TWO, policy.addition_only(), None, errors.ParameterError),
        (FIRST_TWO, policy.presence(max_groups=1), "person",
         errors.ParameterError),
        (FIRST_TWO, policy.sensitive("person = 1"), "person",
         errors.ParameterError),
        (od.Calendar("day", schedule={0: 1, 9: 2}), policy.addition_only(), None,
         errors.ParameterError),
        (od.Calendar("day", schedule={0: "1/2", 9: 1}), policy.bounded(), None,
         errors.ParameterError),
    ],
)  # fmt: skip
def test_what_cannot_be_promised_is_refused(cohort, which, unit, error):
    with pytest.raises(error):
        opened(which, unit=unit, cohort=cohort)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a ledger is kept."""
    if request.param == "sqlite":
        return tmp_path / "ledger.db"
    return request.getfixturevalue("postgres_place")


def test_an_account_keeps_its_calendar(place):
    opened(policy.addition_only(), ledger=place).ask(on(DAYS[0]))
    with pytest.raises(errors.PolicyMismatchError, match="by cohort"):
        opened(policy.addition_only(), ledger=place, cohort=None)
    again = opened(policy.addition_only(), ledger=place)
    assert left(again, DAYS[0]) == Fraction(1, 2)


def test_budgets_that_grow_are_kept_by_sessions_of_any_ledger(place, monkeypatch):
    """Dates, ages and a clock that goes back, in one session and in the next."""
    calendar = od.Calendar("day", schedule={0: "1/4", 10: 1})

    def session():
        return opened(policy.addition_only(), ledger=place, cohort=calendar)

    def at(days):
        day = DAYS[0] + dt.timedelta(days=days)
        told = f"{day}T12:00:00.000000+00:00"
        for module in (_account, _entry, _terms):
            monkeypatch.setattr(module, "now", lambda: told)

    at(0)
    session().ask(on(DAYS[0], "1/4"))
    with pytest.raises(errors.BudgetExceededError, match="day 2026-01-01"):
        session().ask(on(DAYS[0], "1/4"))
    at(10)
    grown = session()
    grown.ask(on(DAYS[0], "3/4"))
    assert left(grown, DAYS[0]) == 0
    assert "this machine's clock" in str(grown.plan(on(DAYS[1])))
    assert "by the clock of the machine that charges" in grown._repr_html_()
    at(9)
    for one in (grown, session()):
        with pytest.raises(errors.LedgerError, match="clock says 2026-01-10"):
            one.ask(on(DAYS[4], "1/4"))
    assert grown.ledger.check().charges == 2


def test_renyi_accounts_by_cohort_hold_as_many_as_one_account_for_each_date():
    more = {"delta_budget": "1/1000000", "accounting": "renyi"}
    session = opened(policy.unbounded(), **more)
    whole = opened(policy.unbounded(), cohort=None, **more)
    asked = on(DAYS[0], "1/100")
    assert session.plan(asked).times == whole.plan(asked).times == 350
    for _ in range(20):
        session.ask(asked)
    assert session.plan(asked).times == 330
    assert session.plan(on(DAYS[1], "1/100")).times == 350
    assert session.plan(od.Count(epsilon="1/100")).times == 330
    moved = opened(policy.bounded(), **more)
    moved.ask(on(DAYS[0], "1/100"))
    assert moved.plan(asked).times == 174  # left for one of the same answer and entered from one
    assert Cohorts.read(moved.plan(asked).cohorts.written()).days == ((DAYS[0], DAYS[0]),)


def test_kinds_of_units_are_of_all_their_dates():
    """A row of one date may make a unit sensitive: no date could pay for itself."""
    for most in (1, "unbounded"):
        calendar = od.Calendar("day", max_cohorts=most)
        with pytest.raises(errors.ParameterError, match="make a unit sensitive"):
            opened(policy.sensitive("place = 'a'"), unit="person", cohort=calendar)
    promise = od.Calendar("day", max_cohorts=1, complete=True).promise
    assert "one record" not in promise
    assert "holds all earlier rows" in promise


def test_edges_to_and_from_absence_beside_others():
    pol = policy.custom(
        kinds=["s", "o", "absent"],
        edges=[("s", "o"), ("s", "absent"), ("absent", "s")],
        rules=[("s", "place = 'a'")],
        default="o",
    )
    plan = opened(pol).plan(on(DAYS[0], 1))
    assert plan.cohorts is not None


def test_what_is_left_is_what_a_question_about_a_range_may_still_take():
    """Of two dates of one range one may be left for the other: both were charged, one told."""
    data = pl.DataFrame({"day": [dt.date(2026, 1, day % 5 + 1) for day in range(20)]})
    session = od.Session(data, policy=od.policy.bounded(), budget=2, cohort="day")
    question = od.Count(where="day >= DATE '2026-01-02'", epsilon="3/4")
    session.ask(question)
    assert not session.plan(question).affordable
    assert set(session.remaining.values()) == {Fraction(1, 2)}
    with pytest.raises(errors.BudgetExceededError) as caught:
        session.ask(question)
    assert "pays for both" in caught.value.hint


def test_a_year_of_days_with_gaussian_noise_is_charged_to_its_days():
    """Daily counts of 40 places, and one about the whole year: each day keeps a budget of its own.

    For each day as many fit as in an account of that day alone, and the ledger recomputes all.
    """
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=n) for n in range(365)]
    rows = pl.DataFrame({"day": days, "place": ["p1"] * 365})
    given = {"policy": od.policy.unbounded(), "budget": 1, "delta_budget": "1/1000000"}
    kind = {"accounting": "renyi"}
    keys = [f"p{n}" for n in range(40)]
    session = od.Session(rows, cohort="day", **given, **kind)
    alone = od.Session(rows, **given, **kind)

    def asked(day, **more):
        on = f"day = DATE '{day}'"
        return od.Count(by="place", keys=keys, where=on, epsilon="1/10", law="gaussian", **more)

    fit = alone.plan(asked(days[0])).times
    assert set(alone.plan(asked(days[0])).charge.values()) == {od.INFINITE}
    for day in days:
        session.ask(asked(day))
    left = {one.remaining["absent -> record"] for one in session.by_cohort}
    assert len(left) == 2  # of the year, and of all other days
    for day in (days[0], days[200], dt.date(2027, 1, 1)):
        assert session.plan(asked(day)).times == fit - (day in days)
    session.ask(replace(asked(days[0]), where=None))  # about every day
    assert session.plan(asked(days[7])).times == fit - 2
    for _ in range(fit - 2):
        session.ask(asked(days[7]))
    with pytest.raises(errors.BudgetExceededError, match="day 2026-01-08: asked D at order"):
        session.ask(asked(days[7]))
    assert session.plan(asked(days[8])).times == fit - 2
    checked = session.ledger.check(laws=charge_divergences)
    assert checked.charges == 365 + 1 + fit - 2
    (balance,) = session.ledger.balances()
    # All days together: no pure ε, and more than a budget of one day, at a δ.
    assert balance.spent["absent -> record"] > 1
    assert balance.delta_spent["absent -> record"] >= Fraction(1, 10**6)
    total = od.session.total_guarantee(session.ledger)
    assert total.epsilon == dict(balance.spent)
    assert od.session.total_guarantee(session.ledger, of="budget").headline == 1


def test_a_schedule_leaves_young_days_less_room_for_gaussian_noise():
    """Whatever part of the budget a day has, it holds as many such answers as pure ones."""
    calendar = od.Calendar("day", schedule={0: 1, 30: 4})
    rows = pl.DataFrame({"day": [dt.date(2020, 1, 1)], "place": ["p"]})
    given = {"policy": od.policy.unbounded(), "budget": 4, "delta_budget": "1/1000000"}
    session = od.Session(rows, cohort=calendar, accounting="renyi", **given)
    for day in ("2020-01-01", "2999-01-01"):
        pure, normal = (
            session.plan(od.Count(where=f"day = DATE '{day}'", epsilon="1/10", law=law))
            for law in ("pure", "gaussian")
        )
        assert normal.times >= pure.times > 0
