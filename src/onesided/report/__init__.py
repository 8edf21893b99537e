"""The report: a release as a folder of tables with its guarantee, and one page to read.

Nothing here sees secret data: a report is made of released values and words.
"""

from onesided.report._folder import Publication, stated, write_folder

__all__ = ["Publication", "stated", "write_folder"]
