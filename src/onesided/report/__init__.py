"""The report: a release as one self-contained page, or as a folder with tables beside it.

Nothing here sees secret data: a report is made of released values and words.
"""

from onesided.report._figures import MAP_LIMIT, map_layout, needs_webgl
from onesided.report._folder import Publication, stated, write_folder
from onesided.report._page import Page
from onesided.report._render import write
from onesided.report._template import fill, moment, resource

__all__ = [
    "MAP_LIMIT",
    "Page",
    "Publication",
    "fill",
    "map_layout",
    "moment",
    "needs_webgl",
    "resource",
    "stated",
    "write",
    "write_folder",
]
