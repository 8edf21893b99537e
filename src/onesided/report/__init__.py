"""The report page: one self-contained HTML file about one release.

It shows what was published and under which promise; it sees released values only.
"""

from onesided.report._page import Page
from onesided.report._render import write

__all__ = ["Page", "write"]
