"""The gallery as a page of Markdown, and its pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from onesided.errors import OutputError
from onesided.numbers import text
from onesided_experiments import _png
from onesided_experiments.gallery import _kinds, _places, _records
from onesided_experiments.gallery._task import Seeded, Shown, Task

# All tasks, in the order of the page.

_FOUND: Final = {task.family: task for task in (*_records.TASKS, *_kinds.TASKS, *_places.TASKS)}
_ORDER: Final = (
    "bounded", "unbounded", "addition_only", "removal_only", "sensitive", "extended_sensitive",
    "tiers", "proposition", "presence", "attributes", "graph", "neighbourhood", "local", "custom",
    "intersection",
)  # fmt: skip
TASKS: Final[tuple[Task, ...]] = tuple(_FOUND[family] for family in _ORDER)


_SEED: Final = 1
_HEAD: Final = """# Gallery

One small task for each family of [policies](policies.md): the code, its promise, its cost along
each edge, and what an observer may learn for certain. The people are made up, so the truth can be
drawn beside the release.

    python -m onesided_experiments.gallery docs     # makes this page and its pictures

All of it was run, with seeded noise so that the pictures can be made again. Real noise comes from
the operating system and cannot be repeated. Every block starts with `import onesided as od`. The
tables are Polars frames, or pandas frames where keys are found; PyArrow and DuckDB work as well.
At ε = 1/2 the odds of a fact, against what it must be indistinguishable from, grow by a factor of
at most e^(1/2) ≈ 1.65.
"""


def run(task: Task, *, seed: int = _SEED) -> Shown:
    """The task with its generated data. Equal seeds give equal answers."""
    table = task.data(np.random.default_rng([seed, *task.family.encode()]))
    answer = task.ask(Seeded(seed), table)
    return Shown(
        task=task,
        rows=len(table),
        columns=tuple(table.columns),
        answer=answer,
        figure=task.draw(table, answer.release),
    )


def page(shown: Sequence[Shown]) -> str:
    """The gallery as Markdown."""
    index = "\n".join(_index(shown))
    return "\n".join([_HEAD, index, "", *(_section(one) for one in shown)]).rstrip() + "\n"


def write(folder: Path, *, seed: int = _SEED, tasks: Iterable[Task] = TASKS) -> list[Path]:
    """Write ``gallery.md`` and ``gallery/*.png``. Errors: OutputError; MissingDependencyError."""
    shown = [run(task, seed=seed) for task in tasks]
    try:
        (folder / "gallery").mkdir(parents=True, exist_ok=True)
        (folder / "gallery.md").write_text(page(shown), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error}") from error
    pictures = [_png.write(one.figure, folder / _picture(one.task)) for one in shown]
    return [folder / "gallery.md", *pictures]


def _index(shown: Iterable[Shown]) -> Iterable[str]:
    yield "| family | task | certain sides |"
    yield "|---|---|---|"
    for one in shown:
        yield f"| [`{one.task.family}`](#{one.task.family}) | {one.task.title} | {_certain(one)} |"


def _certain(one: Shown) -> str:
    names = " ".join(curve.look.name for panel in one.figure.panels for curve in panel.curves)
    sides = [side for side in ("at least", "at most") if f"certainly {side}" in names]
    return " and ".join(sides) or "none"


def _picture(task: Task) -> Path:
    return Path("gallery") / f"{task.family.replace('_', '-')}.png"


def _section(one: Shown) -> str:
    task, answer = one.task, one.answer
    costs = "; ".join(f"{edge}: {text(loss)}" for edge, loss in one.cost.items())
    printed = ["", "```text", answer.printed, "```"] if answer.printed else []
    return "\n".join(
        [
            f"## {task.family}",
            "",
            f"**{task.title}.** {task.text}",
            f"Table `{task.table}`: {one.rows:,} rows, columns {', '.join(one.columns)}.",
            "",
            "```python",
            task.code,
            "```",
            *printed,
            "",
            f"![{task.title}: truth and release]({_picture(task)})",
            "",
            f"- **Promise.** {answer.guarantee.promise}",
            f"- **Cost.** {costs}.",
            f"- **Certain.** {task.learn}",
            "",
        ]
    )
