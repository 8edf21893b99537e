"""A session on a server: the same questions and releases, and rows that stay where they are.

Needs httpx (``pip install "onesided[client]"``), which is loaded when a server is first asked.
"""

from onesided.remote._session import RemotePlan, RemoteSession, connect

__all__ = ["RemotePlan", "RemoteSession", "connect"]
