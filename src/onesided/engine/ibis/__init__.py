"""Tables that enter through Ibis."""

from onesided.engine._protocol import Room

ROOMS = (
    Room(
        library="ibis.expr.types.relations",
        tables=("Table",),
        opens="ibis._engine:open_table",
        names=lambda table: table.columns,
    ),
)
