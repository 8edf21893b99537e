"""The report: a release as one self-contained page, or as a folder with tables beside it.

Nothing here sees secret data: a report is made of released values and words.
"""

from onesided.report._folder import Publication, stated, write_folder
from onesided.report._page import Page
from onesided.report._render import write
from onesided.report._spreadsheet import csv_text
from onesided.report._target import NewFolder, new_folder

__all__ = [
    "NewFolder",
    "Page",
    "Publication",
    "csv_text",
    "new_folder",
    "stated",
    "write",
    "write_folder",
]
