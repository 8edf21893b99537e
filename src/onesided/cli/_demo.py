"""``onesided demo``: the main job on a made-up city."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from onesided.cli._city import write_city
from onesided.cli._publish import Job, perform
from onesided.report import check_target


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder to make for the results.")] = Path("demo-out"),
) -> None:
    """Generate a city with a week of visits, publish which places are safe, write a report.

    Each day a person is in few places; the demo publishes one day, and covers any three places
    of a person by ε = 1.
    """
    check_target(out)
    console = Console()
    with tempfile.TemporaryDirectory(prefix=".onesided-city-", dir=out.absolute().parent) as made:
        folder = Path(made)
        visits, places = write_city(folder)
        console.print("Made a city with a week of visits; publishing its Wednesday.")
        perform(
            Job(
                data=visits,
                unit="person",
                by=("place",),
                policy="presence",
                max_groups=3,
                epsilon="1",
                keys=places,
                at_most=5,
                out=out,
                where="dayofweek(time) = 3",
                ledger=str(folder / "ledger.db"),
                title="Places with at most 5 infected visitors (made-up city)",
            )
        )
        for path in (visits, places, folder / "ledger.db"):
            path.rename(out / path.name)
    console.print(
        f"Open {out / 'report.html'} in a browser. The city's data and the ledger are beside it:\n"
        f"  onesided ledger show {out / 'ledger.db'}\n"
        f"  onesided publish {out / 'visits.parquet'} --unit person --by place --policy presence "
        f"--max-groups 3 --keys {out / 'places.parquet'} --epsilon 1 --at-most 5 --out mine/",
        highlight=False,
        soft_wrap=True,
    )
