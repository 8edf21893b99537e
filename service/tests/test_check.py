"""``onesided datasets check`` measures the machine and says what the clock must give."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("duckdb")

from typer.testing import CliRunner

from onesided_service import _datasets
from onesided_service._datasets_command import app


@pytest.mark.parametrize(("took", "warned"), [("1/5", False), ("1/2", True), (5, True)])
def test_what_the_slowest_question_needs_is_told(folder, monkeypatch, took, warned):
    from fractions import Fraction

    monkeypatch.setattr(_datasets, "rehearse_each", lambda *_: Fraction(took))
    told = CliRunner().invoke(app, ["check", "--config", str(folder / "onesided.toml")])
    assert told.exit_code == 0, told.output
    assert ("late answers are lost" in told.output) == warned
    as_json = ["check", "--json", "--config", str(folder / "onesided.toml")]
    assert f'"seconds_needed": {float(Fraction(took))}' in CliRunner().invoke(app, as_json).output


def test_a_real_check_measures_a_question_of_each_class(folder):
    from onesided_service import ServiceConfig
    from onesided_service._service import Service

    service = Service(ServiceConfig.read(folder / "onesided.toml"))
    assert 0 < service.datasets["visits"].check()["seconds_needed"] < 60
