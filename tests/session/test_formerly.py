"""What 0.2 stored keeps its meaning: questions in JSON, and answers under an id."""

import json

import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.session import Quantile, RowCount, Several, Sum, question_from_json
from onesided.session._recall import asked_as, identity_of
from onesided.session.kit import prepared

ROWS = pl.DataFrame({"person": [1, 1, 2, 3], "v": [5, 4, 9, 2]})
COLUMNS = {"v": od.column("integer", bounds=(0, 8))}


def session(path=None, *, schema=None, unit="person", **more):
    policy = od.policy.addition_only()
    return od.Session(ROWS, unit=unit, schema=schema, policy=policy, budget=99, ledger=path, **more)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (
            '{"version":1,"question":"Sum","fields":{"column":"v","bounds":[0,9],"epsilon":1}}',
            Sum("v", of="units", total_bounds=[0, 9], epsilon=1),
        ),
        (
            '{"version":1,"question":"Sum","fields":{"column":"v","epsilon":1}}',
            Sum("v", of="units", total_bounds="column", epsilon=1),
        ),
        (
            '{"version":1,"question":"Quantile","fields":{"column":"v","bounds":[0,9],"epsilon":1}}',
            Quantile("v", bounds=[0, 9], epsilon=1),
        ),
        (
            '{"version":1,"question":"Several","fields":{"questions":[{"question":"Sum","fields":'
            '{"column":"v","bounds":[0,9],"epsilon":1}}]}}',
            Several([Sum("v", of="units", total_bounds=[0, 9], epsilon=1)]),
        ),
        (
            '{"version":2,"question":"Sum","fields":{"column":"v","bounds":[0,9],"epsilon":1}}',
            Sum("v", bounds=[0, 9], epsilon=1),
        ),
        ('{"version":2,"question":"RowCount","fields":{"epsilon":1}}', RowCount(epsilon=1)),
    ],
)
def test_a_version_means_what_it_meant(text, asked):
    assert question_from_json(text) == asked


@pytest.mark.parametrize("name", ["of", "max_rows", "total_bounds"])
def test_version_1_knows_no_later_field(name):
    fields = {"column": "v", "epsilon": 1, name: 1}
    text = json.dumps({"version": 1, "question": "Sum", "fields": fields})
    with pytest.raises(errors.ParameterError, match=f"no field '{name}'"):
        question_from_json(text)


def test_the_identity_of_a_total_is_what_0_2_wrote():
    """Fields as they were: the column and the bounds, and no word of units."""
    made = session()
    for given, due in (
        (
            {"of": "units", "total_bounds": (0, 9)},
            {"column": "v", "bounds": [{"number": "0"}, {"number": "9"}]},
        ),
        ({"of": "rows", "bounds": (0, 9), "max_rows": 2}, {"column": "v", "of": "rows"}),
    ):
        question = Sum("v", epsilon=1, **given)
        asked = identity_of(question, prepared(made, question), made._context())["asked"]
        assert due.items() <= asked.items()
        assert ("of" in asked) == (given["of"] == "rows")
    # 0.2 clipped each row to bounds above 0 as well: another reading, so another question.
    above = Sum("v", of="units", total_bounds=(1, 9), epsilon=1)
    assert "of" in identity_of(above, prepared(made, above), made._context())["asked"]
    rows = session(unit=None)
    assert "of" not in identity_of(above, prepared(rows, above), rows._context())["asked"]


def test_an_answer_of_units_is_told_to_the_new_spelling_alone(tmp_path):
    path = tmp_path / "ledger.db"
    # The question in 0.2's words: its identity is that of the total.
    with pytest.raises(errors.ParameterError, match="count one by one"):
        session(path).sum("v", bounds=(0, 9), epsilon=1, id="a")
    first = session(path).sum("v", of="units", total_bounds=(0, 9), epsilon=1, id="a")
    ask = {"of": "units", "total_bounds": (0, 9), "epsilon": 1, "id": "a", "again": True}
    again = session(path).sum("v", **ask)
    assert again.told_again
    assert again.value == first.value
    with pytest.raises(errors.ReleaseExistsError, match="same words were about units") as caught:
        session(path).sql(
            "SELECT SUM(v) FROM v", max_rows=2, bounds=(0, 9), epsilon=1, id="a", again=True
        )
    assert 'of="units" and total_bounds=' in caught.value.hint
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        session(path).count(epsilon=1, id="a", again=True)


def test_a_median_of_units_is_told_to_its_own_spelling(tmp_path):
    path, ask = tmp_path / "ledger.db", {"bounds": (0, 9), "epsilon": 1, "id": "m", "again": True}
    session(path).median("v", **ask)
    assert session(path).sql("SELECT MEDIAN_PER_UNIT(v) FROM v", **ask).told_again
    with pytest.raises(errors.ReleaseExistsError, match="same words were about units"):
        session(path).sql("SELECT MEDIAN(v) FROM v", max_rows=2, **ask)


def test_a_schema_s_bounds_of_a_row_were_taken_for_the_total(tmp_path):
    schema = od.Schema(unit="person", columns=COLUMNS)
    made = session(tmp_path / "ledger.db", schema=schema)
    text = '{"version":1,"question":"Sum","fields":{"column":"v","epsilon":1,"id":"a"}}'
    old, new = (
        question_from_json(text),
        Sum("v", of="units", total_bounds=(0, 8), epsilon=1, id="a"),
    )
    completed = [made._completed(one) for one in (old, new)]
    told = {asked_as(one, prepared(made, one), made._context()) for one in completed}
    assert len(told) == 1
