"""How public values are shown and kept: pictures, tables for notebooks, files and folders.

Nothing here sees secret data: what comes in was published already.
"""

from onesided.show._card import Card
from onesided.show._chart import (
    MOST_DOTS,
    Bars,
    Chart,
    Dots,
    Heat,
    Lines,
    Numbers,
    Outline,
    Places,
    Shape,
    Side,
)
from onesided.show._figure import figure
from onesided.show._folder import NewFolder, new_folder, unwritable
from onesided.show._formats import FORMATS, require_formats, require_sheet, write_tables
from onesided.show._outline import outline_around, read_outline
from onesided.show._page import html_page
from onesided.show._plotly import line_trace
from onesided.show._spreadsheet import csv_text
from onesided.show._svg import svg_text

__all__ = [
    "FORMATS",
    "MOST_DOTS",
    "Bars",
    "Card",
    "Chart",
    "Dots",
    "Heat",
    "Lines",
    "NewFolder",
    "Numbers",
    "Outline",
    "Places",
    "Shape",
    "Side",
    "csv_text",
    "figure",
    "html_page",
    "line_trace",
    "new_folder",
    "outline_around",
    "read_outline",
    "require_formats",
    "require_sheet",
    "svg_text",
    "unwritable",
    "write_tables",
]
