"""The files of a new publication: configuration, script and notebook say the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import tomli_w

_HEAD: Final = '"""Publish once a day; run it in this folder: python publish.py"""'


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What was answered. Names of files are relative to the new folder; keys are values or a file.

    >>> choices = Choices(
    ...     data="../v.csv", unit="person", by="place", keys=["gym"],
    ...     policy="presence", condition=None, max_groups=2, at_most=5,
    ...     epsilon="1", budget="14",
    ... )
    >>> print(written(choices)["onesided.toml"].splitlines()[2])
    policy = "presence"
    """

    data: str
    unit: str | None
    by: str
    keys: list[str] | str
    policy: str
    condition: str | None
    max_groups: int
    at_most: int | None
    epsilon: str
    budget: str


def written(choices: Choices) -> dict[str, str]:
    """Each file's text by its name."""
    cells = _cells(choices)
    script = "\n\n".join(code for _, code in cells)
    files = {
        "onesided.toml": _configuration(choices),
        "publish.py": f"{_HEAD}\n\n{script}\n",
        "publish.ipynb": _notebook(cells),
    }
    if not isinstance(choices.keys, str):
        files["keys.csv"] = _csv(choices.by, choices.keys)
    return files


def _keys_file(choices: Choices) -> str:
    return choices.keys if isinstance(choices.keys, str) else "keys.csv"


def _configuration(choices: Choices) -> str:
    publish: dict[str, Any] = {
        "data": choices.data,
        "by": [choices.by],
        "keys": _keys_file(choices),
        "epsilon": choices.epsilon,
        "budget": choices.budget,
        "out": "out",
    }
    if choices.unit is not None:
        publish["unit"] = choices.unit
    if choices.at_most is not None:
        publish["at-most"] = choices.at_most
    if choices.condition is not None:
        publish["sensitive"] = choices.condition
    shared: dict[str, Any] = {"policy": choices.policy, "ledger": "onesided.ledger.db"}
    if choices.unit is not None or choices.policy == "presence":
        shared["max-groups"] = choices.max_groups
    head = "# Made by: onesided new. Used by: onesided publish --config onesided.toml\n\n"
    return head + tomli_w.dumps({**shared, "publish": publish})


def _policy(choices: Choices) -> str:
    family = f"od.policy.{choices.policy}"
    if choices.condition is not None:
        return f"{family}({choices.condition!r})"
    return f"{family}({f'max_groups={choices.max_groups}' if choices.policy == 'presence' else ''})"


def _cells(choices: Choices) -> list[tuple[str, str]]:
    """What each part does, and its code."""
    about = [f"by={choices.by!r}", "keys=keys", f"epsilon={choices.epsilon!r}"]
    if choices.unit is not None and choices.policy != "presence":
        about.append(f"max_groups={choices.max_groups}")
    about.append("id=today, again=True")
    name = "Count" if choices.at_most is None else "AtMost"
    first = "" if choices.at_most is None else f"{choices.at_most}, "
    return [
        (
            "The table and the public groups.",
            "import datetime as dt\n\nimport duckdb\n\nimport onesided as od\n\n"
            f"table = {_read(choices.data)}\n"
            f"keys = {_read_keys(_keys_file(choices), choices.by)}",
        ),
        (
            "What must stay hidden, and in which direction.",
            f"policy = {_policy(choices)}\nprint(policy.explain(epsilon={choices.epsilon!r}))",
        ),
        (
            "The budget is what all answers together may lose; the ledger records every charge.",
            "session = od.Session(\n"
            f"    table, unit={choices.unit!r}, policy=policy, budget={choices.budget!r},\n"
            '    ledger="onesided.ledger.db",\n)',
        ),
        (
            "The plan reads no row and spends nothing. A second run on a day tells again.",
            "today = dt.date.today().isoformat()\n"
            f"question = od.session.{name}(\n    {first}{', '.join(about)}\n)\n"
            "print(session.plan(question))",
        ),
        (
            "Charged, then drawn.",
            "release = session.ask(question)\nprint(release)\n"
            "if not release.told_again:\n"
            '    release.write(f"python-{today}", formats=["csv", "xlsx", "html"])',
        ),
    ]


def _read(name: str) -> str:
    if name.lower().endswith(".csv"):
        return f"duckdb.read_csv({name!r}, header=True, all_varchar=True)"
    return f"duckdb.read_parquet({name!r})"


def _read_keys(name: str, by: str) -> str:
    """All columns: names and positions are published beside the keys, and only these are text."""
    if name.lower().endswith(".csv"):
        return f"duckdb.read_csv({name!r}, header=True, dtype={{{by!r}: 'VARCHAR'}})"
    return f"duckdb.read_parquet({name!r})"


def _csv(heading: str, values: list[str]) -> str:
    lines = ('"' + value.replace('"', '""') + '"' for value in (heading, *values))
    return "\n".join(lines) + "\n"


def _notebook(cells: list[tuple[str, str]]) -> str:
    """As Jupyter keeps it."""
    made: list[dict[str, Any]] = []
    for number, (words, code) in enumerate(cells):
        plain = {"metadata": {}, "source": words.splitlines(keepends=True)}
        made.append({"cell_type": "markdown", "id": f"words-{number}", **plain})
        run = {"metadata": {}, "source": code.splitlines(keepends=True)}
        made.append(
            {
                "cell_type": "code",
                "id": f"code-{number}",
                "execution_count": None,
                "outputs": [],
                **run,
            }
        )
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    document = {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
