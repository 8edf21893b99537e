"""Run a paper's experiments in worker processes, and write what comes of them.

The quick form writes numbers and pictures. It judges nothing: it has too few repetitions.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from onesided.errors import OutputError
from onesided_experiments import _index, _png, _tables, _verdicts
from onesided_experiments._model import Claim, Experiment, Job, Paper, Result, Row, Setup
from onesided_experiments._tables import load

Progress = Callable[[str, int, int], None]
_NEEDED: Final = ("duckdb", "matplotlib")
Mapper = Callable[[list[Job], Callable[[int], None]], list[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one experiment. ``skipped``: its data were not found."""

    experiment: Experiment
    skipped: bool
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    seconds: float = 0.0


def reproduce(
    paper: Paper,
    setup: Setup,
    out: Path,
    *,
    only: frozenset[str] | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Run every experiment (or those named) and write its files to ``out``.

    The same seed gives the same numbers, however many processes.
    Errors: OutputError; DataError for data that cannot be read; MissingDependencyError.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"The folder {str(out)!r} cannot be made: {error.strerror or error}.",
            hint="Name a folder, or a place where one can be made.",
        ) from error
    for module in _NEEDED:
        load(module)
    report = progress or (lambda _name, _done, _total: None)
    start, used = time.monotonic(), _processor()
    workers = processes or (1 if setup.quick else min(2, os.cpu_count() or 1))
    chosen = [one for one in paper.experiments if only is None or one.name in only]
    with _mapper(workers) as run:
        outcomes = [_one(experiment, setup, out, run, report) for experiment in chosen]
    _index.write(paper, outcomes, setup, out)
    if not setup.quick:
        _verdicts.save_run(
            out,
            commit=commit(),
            seed=setup.seed,
            experiments=[one.experiment.name for one in outcomes if not one.skipped],
            seconds=round(time.monotonic() - start),
            processor_seconds=round(_processor() - used),
        )
    return outcomes


def _processor() -> float:
    """Seconds of processor time so far, with those of workers that ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def commit() -> str:
    """The commit of the code that runs, and whether it was changed; or the version installed."""

    def git(*words: str) -> str | None:
        here = ["git", "-C", str(Path(__file__).parent), *words]
        try:
            told = subprocess.run(here, capture_output=True, text=True, check=False)  # noqa: S603
        except OSError:
            return None
        return None if told.returncode else told.stdout.strip()

    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return f"version {version('onesided-experiments')}"
    changed = git("status", "--porcelain", "--untracked-files=no")
    return f"{git('rev-parse', '--short=12', 'HEAD')}{' with changes' if changed else ''}"


def _one(experiment: Experiment, setup: Setup, out: Path, run: Mapper, report: Progress) -> Outcome:
    start = time.monotonic()
    jobs = experiment.jobs(setup)
    if not jobs:
        return Outcome(experiment=experiment, skipped=True)
    report(experiment.name, 0, len(jobs))
    rows = run(jobs, lambda done: report(experiment.name, done, len(jobs)))
    result = experiment.result(rows, setup)
    claims = None if setup.quick else tuple(result.claims())
    files = _write(experiment, result, claims, out)
    return Outcome(
        experiment=experiment,
        skipped=False,
        claims=claims or (),
        notes=tuple(result.notes),
        files=tuple(files),
        seconds=time.monotonic() - start,
    )


def _write(
    experiment: Experiment, result: Result, claims: tuple[Claim, ...] | None, out: Path
) -> list[Path]:
    files = _tables.write(result.rows, out / experiment.name)
    if claims is not None:
        files.append(_verdicts.save(claims, out / experiment.name))
    for name, figure in result.figures.items():
        files.append(_png.write(figure, out / f"{name}.png"))
    return files


@contextmanager
def _mapper(workers: int) -> Iterator[Mapper]:
    """Run jobs here, or in processes that share nothing with this one; rows in order of jobs."""
    if workers == 1:
        yield _here
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:

        def there(jobs: list[Job], done: Callable[[int], None]) -> list[Row]:
            rows: list[Row] = []
            results = pool.map(_call, jobs)
            for number, found in enumerate(results, start=1):
                rows += found
                done(number)
            return rows

        yield there


def _here(jobs: list[Job], done: Callable[[int], None]) -> list[Row]:
    rows: list[Row] = []
    for number, job in enumerate(jobs, start=1):
        rows += _call(job)
        done(number)
    return rows


def _call(job: Job) -> list[Row]:
    return job.function(**job.arguments)
