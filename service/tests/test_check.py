"""``onesided datasets check`` measures the machine, and sets what the clock gives."""

import json
from fractions import Fraction

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("duckdb")

from typer.testing import CliRunner

from onesided_service._datasets_command import app


@pytest.mark.parametrize(("took", "given"), [("1/5", 1), ("1/2", 2), (5, 16)])
def test_what_the_slowest_question_needs_is_set_and_told(service, monkeypatch, took, given):
    """Where nothing is configured; else that stands, and what it should be is told."""
    import onesided as od
    from onesided_service import _datasets

    monkeypatch.setattr(_datasets, "rehearse_each", lambda *_: Fraction(took))
    found = service.inner.datasets["visits"]
    found.pads = True  # as the process that reads rows has it
    assert found._seconds is None
    told = found.check()
    found.opened()  # by whoever asks next
    takes = service.inner.clock.takes(od.Count(epsilon=1), found.config, found.schema)
    assert takes == told["seconds"] == given
    words = found.words_of(told)
    assert words.endswith(f"it has seconds = {given}, set by this check.") == (given > 1)
    assert ("on this machine, and more while that is busy" in words) == (given > 1)
    monkeypatch.setattr(found, "_seconds", Fraction("9/10"))
    told = found.check()
    found.opened()
    assert (told["seconds"], found.config.seconds) == (0.9, Fraction("9/10"))
    assert ("late answers are lost" in found.words_of(told)) == (given > 1)


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
