"""A session on a server: the same questions and releases, and rows that stay where they are.

Needs httpx (``pip install "onesided[client]"``), which is loaded when a server is first asked.
"""

from onesided.remote._connect import connect
from onesided.remote._plan import RemotePlan
from onesided.remote._session import RemoteSession

__all__ = ["RemotePlan", "RemoteSession", "connect"]
