"""Tables that run in Polars."""

from onesided.engine._protocol import Room

ROOMS = (
    Room(
        library="polars",
        tables=("DataFrame", "LazyFrame"),
        opens="polars._engine:PolarsEngine",
        names=lambda table: table.collect_schema().names(),
    ),
)
