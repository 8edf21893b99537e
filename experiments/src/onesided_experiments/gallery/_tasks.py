"""All tasks, in the order of the page."""

from __future__ import annotations

from typing import Final

from onesided_experiments.gallery import _kinds, _places, _records
from onesided_experiments.gallery._task import Task

_FOUND: Final = {task.family: task for task in (*_records.TASKS, *_kinds.TASKS, *_places.TASKS)}
_ORDER: Final = (
    "bounded", "unbounded", "addition_only", "removal_only", "sensitive", "extended_sensitive",
    "tiers", "proposition", "presence", "attributes", "graph", "neighbourhood", "local", "custom",
    "intersection",
)  # fmt: skip
TASKS: Final[tuple[Task, ...]] = tuple(_FOUND[family] for family in _ORDER)
