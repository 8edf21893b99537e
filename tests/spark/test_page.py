"""What docs/spark.md shows runs, and the package's names are the declared ones."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import onesided as od

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"


@pytest.mark.xdist_group("spark")
def test_the_example_of_the_page_runs(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    example = example.replace('"public"', f'"{tmp_path}/out"')
    exec(example, {})  # noqa: S102 - our own page
    told = capsys.readouterr().out
    assert "Step 2, visits-2026-11-21T08.parquet" in told
    assert re.search(r"\| +gym\|", told)


def test_a_name_that_is_none_and_pyspark_that_is_missing(monkeypatch):
    with pytest.raises(AttributeError):
        _ = od.spark.no_such_name
    monkeypatch.setitem(od.spark._LATER, "gone", "_no_such_module")
    with pytest.raises(od.errors.MissingDependencyError, match="spark"):
        _ = od.spark.gone


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("module", sorted(set(od.spark._LATER.values())))
def test_the_examples_of_public_names_run(module, spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loaded = importlib.import_module(f"onesided.spark.{module}")
    names = {"od": od, "spark": spark}
    assert doctest.testmod(loaded, extraglobs=names).failed == 0
    for name in (name for name, place in od.spark._LATER.items() if place == module):
        assert ">>>" in getattr(od.spark, name).__doc__, name
