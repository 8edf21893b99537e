"""Spread tasks over processes. Each starts afresh: nothing is inherited but the task."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from onesided._numbers import whole
from onesided.errors import ParameterError
from onesided.verify._progress import Report

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(
    task: Callable[[Item], Result], items: Sequence[Item], processes: int, progress: Report
) -> list[Result]:
    """``[task(item) for item in items]``, in that order, on several processes.

    Errors: ParameterError if more than one process is asked for and the task cannot be sent.
    """
    count = min(whole(processes, name="processes", least=1, most=1024), len(items))
    results: list[Result] = []
    if count <= 1:
        for item in items:
            results.append(task(item))
            progress(len(results), len(items))
        return results
    refuse_unsendable(task)
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(count, mp_context=context) as pool:
            for result in pool.map(task, items):
                results.append(result)
                progress(len(results), len(items))
    except BrokenProcessPool as error:
        # Each process starts by importing the main script, which must not start processes then.
        raise ParameterError(
            "The other processes could not start, or were ended.",
            hint='In a script, put what it does below if __name__ == "__main__":, or use '
            "processes=1.",
        ) from error
    return results


def refuse_unsendable(task: object) -> None:
    """Say so before any process is started."""
    try:
        pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ParameterError(
            f"The program cannot be sent to another process: {error}.",
            hint="Use processes=1, or define the program at the top of an importable module.",
        ) from error
