"""What the commands need of a service."""

from onesided.serve._datasets import Dataset
from onesided.serve._people import People
from onesided.serve._run import run
from onesided.serve._store import State

__all__ = ["Dataset", "People", "State", "run"]
