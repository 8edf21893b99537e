"""How long a check will take, said before it starts, and a bar while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from onesided.errors import MissingDependencyError

Report: TypeAlias = Callable[[int, int], None]
Progress: TypeAlias = bool | Report


@dataclass(frozen=True, slots=True)
class Effort:
    """What an exact check would take on one core, roughly.

    >>> print(Effort(data_sets=6, noise_paths=1200, seconds=0.5))
    6 data sets, about 1,200 noise paths, about 1 s on one core
    """

    data_sets: int
    noise_paths: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.data_sets:,} data sets, about {self.noise_paths:,} noise paths, "
            f"about {max(1, round(self.seconds)):,} s on one core"
        )


def progress_of(progress: Progress, estimate: Callable[[], Effort], *, total: int) -> Report:
    """The function to call after each data set.

    Errors: MissingDependencyError if a bar is asked for and rich is not installed.
    """
    if progress is False:
        return lambda _done, _total: None
    if progress is not True:
        return progress
    try:
        from rich.console import Console  # noqa: PLC0415 - only when a bar is asked for
        from rich.progress import Progress as Bar  # noqa: PLC0415
    except ImportError:
        raise MissingDependencyError(
            "A progress bar needs the package rich.",
            hint="pip install 'onesided[cli]', or pass progress=a function (done, total).",
        ) from None
    console = Console(stderr=True)
    console.print(f"Exact check: {estimate()}.", highlight=False)
    bar = Bar(console=console, transient=True)
    task = bar.add_task("Data sets", total=total)
    bar.start()

    def show(done: int, _total: int) -> None:
        bar.update(task, completed=done)
        if done == total:
            bar.stop()

    return show
