"""``onesided datasets check`` measures the machine and says what the clock must give."""

import json
from fractions import Fraction

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("duckdb")

from typer.testing import CliRunner

from onesided_service._datasets_command import app


@pytest.mark.parametrize(("took", "warned"), [("1/5", False), ("1/2", True), (5, True)])
def test_what_the_slowest_question_needs_is_told(service, took, warned):
    told = {"rows": 60, "unreadable": {}, "seconds_needed": float(Fraction(took))}
    words = service.inner.datasets["visits"].words_of(told)
    assert ("late answers are lost" in words) == warned
    assert ("on this machine, and more while that is busy" in words) == warned


def test_a_command_checks_as_the_service_will_read(folder):
    """In a process of its own, with the dataset's cores and memory."""
    check = ["check", "--json", "--config", str(folder / "onesided.toml")]
    told = CliRunner().invoke(app, check)
    assert told.exit_code == 0, told.output
    assert json.loads(told.output)["visits"]["seconds_needed"] > 0


def test_a_real_check_measures_a_question_of_each_class(folder):
    from onesided_service import ServiceConfig
    from onesided_service._service import Service

    service = Service(ServiceConfig.read(folder / "onesided.toml"))
    assert 0 < service.datasets["visits"].check()["seconds_needed"] < 60
