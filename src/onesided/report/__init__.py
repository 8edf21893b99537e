"""The report: a release as one self-contained page, or as a folder with tables beside it.

Nothing here sees secret data: a report is made of released values and words.
"""

from onesided.report._folder import Publication, check_target, write_folder
from onesided.report._page import Page
from onesided.report._render import write

__all__ = ["Page", "Publication", "check_target", "write", "write_folder"]
