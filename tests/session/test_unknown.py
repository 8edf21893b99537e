"""Unknown is not no: what a certain bound is about where a condition or a key may be missing."""

from itertools import product

import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.conditions import Condition
from onesided.noise import NotPrivateSeededNoise
from onesided.session import question_from_json, question_to_json

P = od.policy
S = od.session
CONDITIONS = ("v < 5", "not (v < 5 and w)", "w or v = 7", "v in (1, 7)", "w <> (v < 5)")
VALUES, FLAGS = (1, 7), (True, False)
ROWS = [
    (1, "a", 1, True),
    (1, "a", None, None),
    (2, "a", None, True),
    (2, "b", 7, None),
    (3, "b", None, False),
    (4, None, 1, True),
]
COLUMNS = ("person", "place", "v", "w")
KEYS = ["a", "b"]


def table(make, rows):
    return make(dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)))


def session(data, *, policy=None, **more):
    policy = P.presence(max_groups=2) if policy is None else policy
    more = {"noise": NotPrivateSeededNoise(7)} | more  # ε is beyond what production answers
    return S.Session(data, unit="person", policy=policy, budget=10**6, **more)


def completions(rows):
    """Every table that these rows may be of, each missing value of a condition filled in."""
    choices = [
        product(VALUES if v is None else (v,), FLAGS if w is None else (w,)) for _, _, v, w in rows
    ]
    for filled in product(*map(tuple, choices)):
        yield [(*row[:2], *pair) for row, pair in zip(rows, filled, strict=True)]


def truth(rows, where):
    """Persons by place, by plain Python; a row without a place is in no group."""
    bound = Condition.parse(where).bind(TYPES)
    met = {(p, at) for p, at, v, w in rows if bound.of({"v": v, "w": w}) is True}
    return [sum(at == key for _, at in met) for key in KEYS]


TYPES = {"v": od.schema.bits(64), "w": od.schema.BOOLEAN}


def test_each_reading_bounds_every_completion_on_its_side(engine):
    data, asked = table(engine, ROWS), {"by": "place", "keys": KEYS, "epsilon": 999}
    rising = {"max_groups": 2, "on_excess": "error"}
    most = session(data).ask_all(
        [S.Count(where=where, unknown="possible", **asked) for where in CONDITIONS]
    )
    least = session(data, policy=P.removal_only()).ask_all(
        [S.Count(where=where, **rising, **asked) for where in CONDITIONS]
    )
    for where, above, below in zip(CONDITIONS, most.parts, least.parts, strict=True):
        assert above.interval.upper_certain
        assert below.interval.lower_certain
        worlds = [truth(rows, where) for rows in completions(ROWS)]
        for place, held in enumerate(zip(*worlds, strict=True)):
            assert below.interval.lower[place] <= min(held), where
            assert max(held) <= above.interval.upper[place], where


@pytest.mark.parametrize("where", CONDITIONS)
def test_what_at_most_certifies_is_true_of_every_completion(where):
    asked = {"by": "place", "keys": KEYS, "where": where, "epsilon": 999}
    data = table(pl.DataFrame, ROWS)
    for threshold in range(4):
        for release in (
            session(data).at_most(threshold, **asked),
            session(data).above(threshold, max_answers=2, **asked),
        ):
            for rows in completions(ROWS):
                held = dict(zip(KEYS, truth(rows, where), strict=True))
                assert all(held[key] <= threshold for key in release.at_most())


def test_compounds_certify_what_is_possible():
    of = {"all": KEYS}
    data = table(pl.DataFrame, ROWS)
    asked = {"by": "place", "of": of, "where": "v < 5", "epsilon": 999}
    possible = session(data).at_most(1, **asked)
    assert possible.at_most() == []
    recorded = session(data).at_most(1, **asked, unknown="recorded")
    assert recorded.at_most() == ["all"]
    assert "A certain upper bound is about what is recorded." in recorded.warnings[0]


@pytest.mark.parametrize(
    ("kind", "unknown"),
    [
        (S.AtMost, "possible"),
        (S.Above, "possible"),
        (S.Count, "recorded"),
        (S.TopK, "recorded"),
        (S.Sum, "recorded"),
        (S.Mean, "recorded"),
        (S.Quantile, "recorded"),
        (S.Discover, "recorded"),
        (S.Ngrams, "recorded"),
        (S.RangeQuery, "recorded"),
        (S.LinearQuery, "recorded"),
        (S.Histogram, "recorded"),
        (S.RowCount, "recorded"),
        (S.Variance, "recorded"),
        (S.Enclosed, "recorded"),
        (S.OwnMechanism, "recorded"),
    ],
)
def test_each_question_has_its_own_default(kind, unknown):
    assert kind.__dataclass_fields__["unknown"].default == unknown


@pytest.mark.parametrize("given", ["maybe", "", None, True, 1, ["possible"]])
def test_no_other_reading_is_taken(given):
    data = table(pl.DataFrame, ROWS)
    own = session(data)
    for ask in (
        lambda: own.count(epsilon=1, unknown=given),
        lambda: own.count(epsilon=1, where="v < 5", unknown=given),
        lambda: own.at_most(1, by="place", keys=KEYS, epsilon=1, unknown=given),
        lambda: own.linear([[1, 1]], by="place", keys=KEYS, epsilon=1, unknown=given),
        lambda: own.ranges("v", [(0, 9)], bins=[0, 9], epsilon=1, unknown=given),
    ):
        with pytest.raises(errors.ParameterError, match="unknown="):
            ask()
    assert not any(own.spent.values())


def test_a_condition_that_is_none_is_refused_at_its_place_in_either_reading():
    own = session(table(pl.DataFrame, ROWS))
    said = []
    for unknown in ("possible", "recorded"):
        with pytest.raises(errors.ConditionError) as refused:
            own.count(epsilon=1, where="w and v", unknown=unknown)
        said.append(str(refused.value))
    assert said[0] == said[1]


def declared(required=(), **more):
    columns = {"place": "text", "v": "integer", "w": "boolean", "x": "number"}
    return od.Schema(
        columns={n: od.column(kind, required=n in required) for n, kind in columns.items()}, **more
    )


FULL = {"person": [1, 2], "place": ["a", "b"], "v": [1, 7], "w": [True, False], "x": [0.5, 2.0]}


def test_what_the_schema_requires_is_not_said_to_be_missing():
    def said(schema, **asked):
        own = session(pl.DataFrame(FULL), schema=schema)
        return own.count(epsilon=9, **asked)

    by = {"by": "place", "keys": KEYS}
    every = declared(FULL)
    for unknown in ("possible", "recorded"):
        release = said(every, **by, where="v < 5 and x > 0.1", unknown=unknown)
        assert release.warnings == ()
        assert "About the data as they are." in str(release)
        assert release.guarantee.scope == ""
    release = said(declared(["v"]), **by, where="v < 5")
    assert release.warnings == (
        "Rows without a value of 'place' are in no group. A certain upper bound is about rows "
        "with a value of 'place'.",
    )
    assert release.guarantee.scope == "rows with a value of 'place'"
    assert "recorded" in said(declared(["place"]), **by, where="v < 5").warnings[0]
    assert said(None).warnings == ()


def test_the_sentence_stands_on_every_surface(tmp_path):
    own = session(table(pl.DataFrame, ROWS))
    release = own.count(by="place", keys=KEYS, where="v < 5", epsilon=9)
    said = release.warnings[0]
    assert said.startswith("Recorded as v < 5: rows for which that is unknown are not counted.")
    assert str(release).startswith(said)
    assert repr(release).startswith(said)
    assert "Recorded as v &lt; 5" in release._repr_html_()
    assert "About the data as recorded." in str(release.guarantee)
    facts = release.guarantee.as_dict()
    assert facts["certain_about"] == "what is recorded"
    folder = release.write(tmp_path / "out", formats=["csv", "json", "html", "xlsx"])
    assert "Recorded as v" in (folder / "release.html").read_text()
    assert said in (folder / "guarantee.json").read_text()
    read = S.release_from_json(S.release_to_json(release))
    assert (read.warnings, read.guarantee.scope) == ((said,), release.guarantee.scope)
    assert own.plan(S.Count(epsilon=1, where="v < 5")).guarantee.about == (
        "About the data as recorded."
    )


def test_what_is_said_does_not_depend_on_rows():
    asked = S.Count(by="place", keys=KEYS, where="v < 5", epsilon=999)
    told = {
        session(table(pl.DataFrame, rows)).ask(asked).warnings
        for rows in (ROWS, ROWS[:1], [(1, "a", 1, True)])
    }
    assert len(told) == 1


def test_a_row_without_a_key_is_in_no_group_not_even_among_others():
    own = session(table(pl.DataFrame, ROWS), policy=P.addition_only())
    release = own.count(by="place", keys=["a"], others=True, max_groups=2, epsilon=999)
    assert release.estimate.tolist() == [2, 2]
    assert "Rows without a value of 'place' are in no group." in release.warnings[0]


def test_a_negative_value_may_turn_a_sum_either_way():
    own = session(table(pl.DataFrame, ROWS), policy=P.addition_only())
    asked = {"where": "w", "epsilon": 99, "missing": "drop"}
    fine = own.sum("v", of="units", total_bounds=(0, 9), unknown="possible", **asked)
    assert fine.warnings[0].endswith(
        "Rows without a value of 'v' are left out. A certain upper bound is about rows with a "
        "value of 'v'."
    )
    assert fine.guarantee.scope.endswith("; of rows with a value of 'v'")
    every = session(pl.DataFrame(FULL), policy=P.addition_only(), schema=declared(["v"]))
    fine = every.sum("v", of="units", total_bounds=(0, 9), unknown="possible", **asked)
    assert "A certain" not in fine.warnings[0]
    either = own.sum("v", of="units", total_bounds=(-9, 9), **asked)
    assert not either.interval.upper_certain or "A certain bound is" in either.warnings[0]


@pytest.mark.parametrize(
    "where",
    ["v IS NOT NULL AND v < 5", "v IS NULL OR v < 5", "coalesce(v < 5, false)", "v IS NULL"],
)
def test_a_condition_that_decides_every_row_needs_no_sentence(where):
    own = session(table(pl.DataFrame, ROWS))
    counts = {
        own.count(where=where, epsilon=999, unknown=unknown).value
        for unknown in ("possible", "recorded")
    }
    release = own.count(where=where, epsilon=9)
    assert (len(counts), release.warnings) == (1, ())


def test_a_case_that_passes_over_what_is_missing_says_so():
    own, case = session(table(pl.DataFrame, ROWS)), "CASE WHEN v < 5 THEN TRUE ELSE FALSE END"
    for unknown in ("possible", "recorded"):
        release = own.count(where=case, epsilon=9, unknown=unknown)
        assert release.warnings == (
            "A CASE in the condition takes what is missing for no. A certain bound is about what "
            "is recorded.",
        )
    filled = session(pl.DataFrame(FULL), schema=declared(["v"]))
    assert filled.count(where=case, epsilon=9).warnings == ()


@pytest.mark.parametrize(
    "where",
    [
        "v + 1 < 5",
        "v IS NOT NULL AND v + 1 < 5",
        "v IS NOT NULL OR v < 5",
        "CASE WHEN v < 5 THEN TRUE END",
        "v < 5 AND w IS NOT NULL",
        "CASE WHEN w THEN w ELSE TRUE END",
        "NOT (v IS NOT NULL AND w)",
    ],
)
def test_what_may_be_unknown_is_said(where):
    assert session(table(pl.DataFrame, ROWS)).count(where=where, epsilon=9).warnings


@pytest.mark.parametrize("where", CONDITIONS)
def test_no_row_is_undecided_by_what_is_proved(where):
    """Against plain Python: where a condition is said to decide every row, it does."""
    full = {"v": "integer", "w": "boolean"}
    for filled in ({}, {"v": "integer"}, {"w": "boolean"}, full):
        bound = Condition.parse(where).bind(TYPES)
        rows = product(
            VALUES if "v" in filled else (*VALUES, None), FLAGS if "w" in filled else (*FLAGS, None)
        )
        found = {bound.of({"v": v, "w": w}) for v, w in rows}
        assert Condition.parse(where).may_be_unknown(filled) or None not in found


def test_infinity_is_no_value_that_a_schema_requires():
    data = pl.DataFrame({**FULL, "x": [0.5, float("inf")]})
    with pytest.raises(errors.DataError, match="1 row has no value in the column 'x'"):
        session(data, schema=declared(["x"]))


def test_an_older_answer_is_told_only_to_the_question_that_it_answered(tmp_path, monkeypatch):
    """Answers of before counted what is recorded, also those of at_most."""
    data, ledger = table(pl.DataFrame, ROWS), tmp_path / "ledger.db"
    asked = {"by": "place", "keys": KEYS, "epsilon": 9, "id": "old"}
    old = session(data, ledger=ledger).at_most(2, **asked, where="v < 5", unknown="recorded")
    whole = session(data, ledger=ledger).at_most(2, **{**asked, "id": "whole"})
    again = session(data, ledger=ledger)
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        again.at_most(2, **asked, where="v < 5", again=True)
    told = again.at_most(2, **asked, where="v < 5", unknown="recorded", again=True)
    assert told.told_again
    assert told.at_most() == old.at_most()
    free = again.at_most(2, **{**asked, "id": "whole"}, unknown="recorded", again=True)
    assert free.at_most() == whole.at_most()


def test_the_identity_of_what_is_recorded_is_as_it_was():
    """So that answers of before are found: the reading is no part of it where it was always so."""
    own = session(table(pl.DataFrame, ROWS))
    from onesided.session._recall import identity_of

    def asked(question):
        context = own._context()
        return identity_of(question, question.prepare(context), context)["asked"]

    base = {"by": "place", "keys": KEYS, "epsilon": 1}
    assert "unknown" not in asked(S.Count(**base, where="v < 5"))
    assert "unknown" not in asked(S.AtMost(1, **base))
    assert "unknown" not in asked(S.AtMost(1, **base, where="v < 5", unknown="recorded"))
    assert asked(S.AtMost(1, **base, where="v < 5"))["unknown"] == "possible"
    assert asked(S.Count(**base, where="v < 5", unknown="possible"))["unknown"] == "possible"


def test_json_leaves_the_default_out_and_reads_it_back():
    count = S.Count(epsilon=1, where="v < 5")
    assert "unknown" not in question_to_json(count)
    most = S.AtMost(1, by="place", keys=KEYS, epsilon=1, where="v < 5", unknown="recorded")
    assert question_from_json(question_to_json(most)) == most
    absent = question_from_json(
        '{"version":1,"question":"AtMost","fields":{"threshold":1,"by":"place","epsilon":1}}'
    )
    assert absent.unknown == "possible"


def test_sql_takes_one_reading_for_all_aggregates():
    own = session(table(pl.DataFrame, ROWS), policy=P.addition_only())
    text = "SELECT COUNT(DISTINCT person), SUM_PER_UNIT(v, 0, 9) FROM t WHERE w"
    try:
        several = own.question(text, epsilon=2, unknown="possible")
    except errors.OnesidedError:
        text = "SELECT COUNT(DISTINCT person), MEAN_PER_UNIT(v) FROM t WHERE w"
        several = own.question(text, epsilon=2, unknown="possible", bounds=(0, 9))
    assert {one.unknown for one in several.questions} == {"possible"}
    having = "SELECT place FROM t WHERE w GROUP BY place HAVING COUNT(DISTINCT person) <= 1"
    assert own.question(having, epsilon=1, keys=KEYS, max_groups=2).unknown == "possible"


def test_several_answers_say_each_thing_once():
    own = session(table(pl.DataFrame, ROWS), policy=P.addition_only())
    asked = S.Count(where="v < 5", epsilon=1)
    release = own.ask_all([asked, asked])
    assert str(release.warnings).count("Recorded as") == 1


def test_ngrams_and_found_keys_say_it_too():
    rows = [(n, at, v, w) for n in range(5) for _, at, v, w in ROWS[:1]]
    data = table(pl.DataFrame, rows)
    own = session(data, policy=P.sensitive("not w"))
    found = own.discover(by="place", where="v < 5", epsilon=99, max_groups=1)
    assert found.warnings[0].startswith("Recorded as v < 5")
    possible = own.discover(by="place", where="v < 5", epsilon=99, max_groups=1, unknown="possible")
    assert "A certain lower bound is about what is possible." in possible.warnings[0]
    walks = own.ngrams(by="place", order="v", n=1, where="w", epsilon=99, max_groups=1)
    assert walks.warnings[0].startswith("Recorded as w")


def test_bins_say_it_of_the_column_that_they_are_made_of():
    own = session(table(pl.DataFrame, ROWS), policy=P.addition_only())
    asked = {"bins": [0, 5, 10], "epsilon": 99, "on_excess": "truncate"}
    release = own.histogram("v", **asked, missing="drop")
    assert "Rows without a value of 'v' are in no group." in release.warnings[0]
    ranges = own.ranges("v", [(0, 10)], bins=[0, 5, 10], missing="drop", epsilon=99)
    assert "Rows without a value of 'v' are in no group." in ranges.warnings[0]


BY = {"by": "place", "keys": KEYS, "where": "w", "epsilon": 9}
ALONE = {"where": "w", "epsilon": 9}
ASKED = {
    "count": S.Count(**BY, max_groups=2, on_excess="error"),
    "largest": S.TopK(1, **BY, max_groups=2, on_excess="error", confidence="0.9"),
    "above": S.Above(1, max_answers=None, unknown="recorded", **BY, max_groups=2),
    "sum": S.Sum("v", of="units", total_bounds=(0, 9), missing="drop", **ALONE),
    "sum of both signs": S.Sum("v", of="units", total_bounds=(-9, 9), missing="drop", **ALONE),
    "rows": S.RowCount(max_rows=3, **ALONE),
    "mean": S.Mean("v", bounds=(0, 9), missing="drop", **ALONE),
    "ranges": S.RangeQuery("v", [(0, 9)], bins=[0, 9], missing="drop", **ALONE),
    "linear": S.LinearQuery([[1, 1]], strategy="identity", **BY),
    "shares": S.Quantile(
        "v", "1/2", candidates=[1, 7], missing="drop", method="cumulative", **ALONE
    ),
    "histogram": S.Histogram("v", bins=[0, 9], missing="drop", **ALONE),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("policy", [P.addition_only(), P.removal_only(), P.bounded()], ids=str)
def test_no_upper_bound_is_certain_without_a_word_about_what_is_recorded(policy, name):
    rows = [row for row in ROWS if row[:2] != (2, "b")]  # nobody is in two places
    own = session(table(pl.DataFrame, rows), policy=policy)
    try:
        release = own.ask(ASKED[name])
    except errors.OnesidedError:
        return
    assert "Recorded as w" in release.warnings[0]
    upper = bool(release.table.certain("upper").any())
    said = "bound is about what is recorded." in release.warnings[0]
    assert said == upper  # of no bound that is not there
    if upper:
        assert "what is recorded" in release.guarantee.scope or "bounded" in release.guarantee.scope
    said = [*release.statement.first, release.guarantee.about]
    assert all(one.count(" are left out.") <= 1 for one in said)  # nothing is said twice


@pytest.mark.parametrize(
    "asked",
    [
        S.Mean("v", bounds=(0, 9), missing="drop", epsilon=9),
        S.Quantile("v", "1/2", candidates=[1, 7], missing="drop", epsilon=9),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_said_of_values_that_are_left_out_stands_first(asked):
    own = session(table(pl.DataFrame, ROWS), policy=P.addition_only())
    released = own.ask(asked)
    assert "Rows without a value of 'v' are left out." in released.cut
    assert str(released).startswith(released.cut)


@pytest.mark.parametrize("asked", [{"where": "w"}, {}], ids=["where", "order"])
def test_a_lower_bound_on_ngrams_is_about_what_is_recorded(asked):
    """A row that is left out makes neighbours of others."""
    rows = [
        (p, at, v, None if at == "b" else True) for p in range(9) for at, v in ("a1", "b2", "c3")
    ]
    rows = [(p, at, None if at == "b" and not asked else int(v), w) for p, at, v, w in rows]
    own = session(table(pl.DataFrame, rows), policy=P.sensitive("place = 'z'"))
    found = own.ngrams(by="place", order="v", n=2, epsilon=99, max_groups=3, **asked)
    assert found.labels == [("a", "c")]
    assert "A certain bound is about" in found.warnings[0]
    assert found.guarantee.scope in ("what is recorded", "rows with a value of 'place' or 'v'")
    assert "hold for the data as they are" not in found.warnings[0]


def test_what_is_made_per_unit_is_about_what_is_recorded():
    made = {"total": ("sum", "v", (0, 9)), "last": ("max", "v"), "n": "count"}

    def scopes(own):
        own = own.per_unit(**made)
        keys = {"by": "last", "keys": [1, 7], "unknown": "possible"}
        for where in ("total > 5", "last IS NOT NULL AND last > 5", "n > 1"):
            yield own.count(where=where, epsilon=9, unknown="possible").guarantee.scope
        yield own.count(**keys, max_groups=1, on_excess="error", epsilon=9).guarantee.scope

    own = session(table(pl.DataFrame, ROWS), policy=P.addition_only())
    recorded = "what is recorded"
    assert list(scopes(own)) == [recorded, recorded, "", recorded]
    assert (
        recorded
        in own.per_unit(**made)
        .sum("total", of="units", total_bounds=(0, 9), epsilon=9)
        .guarantee.scope
    )
    full = session(pl.DataFrame(FULL), policy=P.addition_only(), schema=declared(["v"]))
    assert recorded not in list(scopes(full))


def test_a_required_name_that_was_made_anew_is_not_required():
    own = session(pl.DataFrame(FULL), schema=declared(["place"]), policy=P.addition_only())
    anew = own.per_unit(n="count").join_public({"person": [1], "place": ["a"]}, on="person")
    assert "Recorded as place" in anew.count(where="place = 'a'", epsilon=9).warnings[0]
    anew = own.per_unit(top=("max", "v")).per_unit(place=("max", "top"))
    assert "Recorded as place" in anew.count(where="place > 1", epsilon=9).warnings[0]


def test_moments_and_wide_units_that_conditions_may_lose_are_said():
    def said(where, unit=None, **columns):
        data = pl.DataFrame({name: pl.Series([0], dtype=kind) for name, kind in columns.items()})
        held = {
            n: od.column("date" if k == pl.Date else "datetime", required=True)
            for n, k in columns.items()
            if n != unit
        }
        own = S.Session(
            data, unit=unit, policy=P.addition_only(), budget=99, schema=od.Schema(columns=held)
        )
        return own.count(where=where, epsilon=1).warnings

    fine, micro, rough = (pl.Datetime(one) for one in ("ns", "us", "ms"))
    after = "a > TIMESTAMP '2020-01-01 00:00:00'"
    assert said(after, a=fine)
    assert said(after, a=rough)
    assert not said(after, a=micro)
    assert not said("a < b AND b BETWEEN a AND a", a=micro, b=micro)
    assert said("a < b", a=fine, b=micro)
    assert said("CASE WHEN a IS NULL THEN a ELSE d END > DATE '2020-01-01'", a=micro, d=pl.Date)
    assert said("COALESCE(d, a) > DATE '2020-01-01'", a=micro, d=pl.Date)
    assert said("u > 5", unit="u", u=pl.Int128)
    assert not said("u > 5", unit="u", u=pl.Int64)


@pytest.mark.parametrize(
    "condition",
    [
        "CASE WHEN age < 18 THEN TRUE ELSE FALSE END",
        "COALESCE(age < 18, FALSE)",
        "age IS NOT NULL AND age < 18",
    ],
)
def test_a_policy_says_when_its_condition_takes_what_is_missing_for_no(condition):
    said = f"A row without a value of 'age' may count as open: {condition} says so."
    assert said in P.sensitive(condition).explain()
    assert "without a value" not in P.sensitive("age < 18").explain()
