"""The publications that can be reproduced."""

from __future__ import annotations

from typing import Final

from onesided_experiments import adp_2021, adp_2022, delta_neighbourhood, one_sided_note, osdp

PAPERS: Final = {
    paper.name: paper
    for paper in (
        adp_2021.PAPER,
        adp_2022.PAPER,
        osdp.PAPER,
        delta_neighbourhood.PAPER,
        one_sided_note.PAPER,
    )
}
