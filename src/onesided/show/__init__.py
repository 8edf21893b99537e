"""How public values are shown and kept: pictures, tables for notebooks, files and folders.

Nothing here sees secret data: what comes in was published already.
"""

from onesided.show._chart import (
    Bars,
    Chart,
    Dots,
    Heat,
    Limit,
    Lines,
    Numbers,
    Outline,
    Panels,
    Places,
    Shape,
    Side,
    outline_around,
    read_outline,
)
from onesided.show._formats import (
    FORMATS,
    NewFolder,
    new_folder,
    require_formats,
    require_sheet,
    require_structure,
    unwritable,
    write_tables,
)
from onesided.show._libraries import Picture, figure
from onesided.show._marks import ESTIMATE, GROUND, INK, UNSURE, element, long, text
from onesided.show._page import TABLE_LIMIT, Card, Page, drawn_twice, fill, moment, resource
from onesided.show._svg import MOST_PLACES, svg_text
from onesided.show._table import (
    EMPTY,
    OWN_LIMITS,
    SIDES,
    Crossed,
    Role,
    RoleColumn,
    RoleTable,
    Shown,
    cell_text,
    crossed,
    crossed_html,
    csv_text,
)

__all__ = [
    "EMPTY", "ESTIMATE", "FORMATS", "GROUND", "INK", "MOST_PLACES", "OWN_LIMITS", "SIDES",
    "TABLE_LIMIT", "UNSURE", "Bars", "Card", "Chart", "Crossed", "Dots", "Heat", "Limit",
    "Lines", "NewFolder", "Numbers", "Outline", "Page", "Panels", "Picture", "Places", "Role",
    "RoleColumn", "RoleTable", "Shape", "Shown", "Side", "cell_text", "crossed", "crossed_html",
    "csv_text", "drawn_twice", "element", "figure", "fill", "long", "moment", "new_folder",
    "outline_around", "read_outline", "require_formats", "require_sheet", "require_structure",
    "resource", "svg_text", "text", "unwritable", "write_tables",
]  # fmt: skip
