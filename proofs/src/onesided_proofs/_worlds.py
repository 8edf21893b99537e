"""What lines of several files are made of: records of all kinds, tables of rows, wrong programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from onesided.noise import IntArray, Noise
from onesided.policy import ABSENT, Policy, Record


def of_kinds(policy: Policy, held: Iterable[object]) -> tuple[Record, ...]:
    """Each value as a record of each kind, and the absent record where the policy has one."""
    every = list(held)
    kinds = [kind for kind in policy.kinds if kind != ABSENT]
    absent = [Record(ABSENT)] if ABSENT in policy.kinds else []
    return (*absent, *(Record(kind, value) for kind in kinds for value in every))


def table_of(rows: Iterable[tuple[Any, ...]], **columns: str) -> Any:
    """These rows in the first engine that is there. columns: their types, as SQL has them."""
    found = list(rows)
    if find_spec("polars"):
        import polars as pl  # noqa: PLC0415 - optional, and slow to load

        types = {"BIGINT": pl.Int64(), "BOOLEAN": pl.Boolean(), "VARCHAR": pl.String()}
        schema = {name: types[kind] for name, kind in columns.items()}
        return pl.DataFrame(found, schema=schema, orient="row")
    import duckdb  # noqa: PLC0415 - optional, and slow to load

    known = duckdb.connect()
    declared = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    known.execute(f"CREATE TABLE rows ({declared})")
    if found:
        places = ", ".join("?" for _ in columns)
        known.executemany(f"INSERT INTO rows VALUES ({places})", found)  # noqa: S608 - our names
    return known.table("rows")


@dataclass(frozen=True, slots=True)
class Wrong:
    """A function of counts and noise, in the shape of a mechanism; it states no loss."""

    run: Callable[[IntArray, Noise], Any]

    def release(self, values: IntArray, *, noise: Noise) -> Any:
        """What the function gives."""
        return self.run(values, noise)


def wrong(run: Callable[..., Any], **options: Any) -> Wrong:
    """The function, with these options."""
    return Wrong(partial(run, **options))
