"""One small task per family of policies: its code, its picture, its promise and its price.

    python -m onesided_experiments.gallery docs

writes ``docs/gallery.md`` and the pictures in ``docs/gallery``. All data are generated, noise is
seeded and so protects nobody, and nothing is fetched.
"""

from onesided_experiments.gallery._page import TASKS, page, run, write
from onesided_experiments.gallery._task import Shown, Task

__all__ = ["TASKS", "Shown", "Task", "page", "run", "write"]
