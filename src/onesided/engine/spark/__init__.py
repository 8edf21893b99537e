"""Tables that run in Spark."""

from onesided.engine._protocol import Room

ROOMS = (
    Room(
        library="pyspark.sql.classic.dataframe",
        tables=("DataFrame",),
        opens="spark._engine:SparkEngine",
        names=lambda table: table.columns,
    ),
)
