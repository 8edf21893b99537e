"""``onesided demo``: the main job on a made-up city."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

from onesided.cli._ask import LEDGER, Publish, perform, say
from onesided.cli._city import write_city
from onesided.cli._options import Printed
from onesided.cli._terminal import Terminal
from onesided.errors import OutputError
from onesided.schema import Schema, column
from onesided.store import scratch

_SCHEMA = Schema(
    unit="person",
    noun=("person", "people"),
    columns={
        "person": column("integer", about="whose visit it is", required=True),
        "place": column("text", keys="places.parquet", required=True),
        "time": column("datetime", about="by the city's own clock", required=True),
    },
)


def demo(*, out: Path = Path("demo-out"), printed: Printed) -> None:
    """Generate a city with a week of visits, publish which places are safe, write a report.

    The demo publishes one day. ε = 1 hides any three places of a person together, and one more
    such answer may be charged to its ledger.
    """
    if os.path.lexists(out):
        raise OutputError(
            f"The output folder {str(out)!r} exists already.", hint="Choose another name."
        )
    as_json, quiet = printed.as_json, printed.quiet
    console = Terminal(quiet=quiet or as_json)
    with scratch() as folder:
        visits, places = write_city(folder)
        schema = folder / "visits.schema.toml"
        schema.write_text(_SCHEMA.to_toml(), encoding="utf-8")
        console.print("Made a city with a week of visits; publishing its Wednesday.")
        result = perform(
            Publish(
                data=visits,
                schema=schema,
                by=["place"],
                policy="presence",
                epsilon="1",
                budget="2",
                at_most=5,
                out=out,
                said={"max_groups": 3, "where": "EXTRACT(ISODOW FROM time) = 3"},
                title="Which places of a made-up city had at most 5 infected guests on Wednesday?",
                quiet=quiet,
            )
        )
        for path in (visits, places, schema, folder / LEDGER):
            shutil.move(path, out / path.name)
    say(replace(result, ledger=f"ledger {out / LEDGER}"), as_json=as_json, quiet=quiet)
    console.print(
        f"Open {out / 'report.html'} in a browser. The city's data and the ledger are beside it:\n"
        f"  onesided ledger show {out / LEDGER}\n"
        f"  onesided explain {out / 'visits.schema.toml'}\n"
        f"  onesided publish {out / 'visits.parquet'} --schema {out / 'visits.schema.toml'} "
        "--by place --policy presence --max-groups 3 --epsilon 1 --at-most 5 "
        "--id mine --again --out mine/"
    )
