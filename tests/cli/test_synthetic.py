"""Made-up rows from the command line."""

import polars as pl
import pytest
import typer

import onesided as od
from onesided.cli._app import app
from onesided.errors import ParameterError


def test_the_command_line_makes_rows(tmp_path, monkeypatch, capsys):
    rows = {"person": range(60), "age": [one % 90 for one in range(60)], "town": ["a", "b"] * 30}
    pl.DataFrame(rows).write_parquet(tmp_path / "people.parquet")
    schema = od.Schema(
        unit="person",
        columns={
            "person": od.column("integer"),
            "age": od.column("integer", bounds=(0, 89)),
            "town": od.column("text", keys=["a", "b"]),
        },
    )
    (tmp_path / "people.toml").write_text(schema.to_toml())
    monkeypatch.chdir(tmp_path)
    said = "synthetic people.parquet --schema people.toml --policy bounded --column age"
    said += " --column town --records 60 --epsilon 1 --on-excess truncate"
    command = typer.main.get_command(app)
    command.main([*said.split(), "--plan"], standalone_mode=False)
    assert "record -> record: 1 of 1 left" in capsys.readouterr().out
    pairs = '[["age", "town"]]'
    command.main([*said.split(), "--pairs", pairs, "--out", "made"], standalone_mode=False)
    assert pl.read_parquet("made/release.parquet").shape == (60, 3)
    with pytest.raises(ParameterError, match="values of its own"):
        command.main([*said.split(), "--keys", "people.parquet"], standalone_mode=False)
