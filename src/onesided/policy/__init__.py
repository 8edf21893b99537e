"""Policies: who must be able to pass as whom, in which direction, and how well."""

from onesided.fields import Field
from onesided.policy._attributes import Attributes, attributes
from onesided.policy._base import CellMoves, Policy, Widened, joint_records, possible_pairs
from onesided.policy._cells import Cells, GroupCount
from onesided.policy._families import (
    addition_only,
    bounded,
    custom,
    extended_sensitive,
    proposition,
    removal_only,
    sensitive,
    tiers,
    unbounded,
)
from onesided.policy._family import Family, Option, families, from_toml
from onesided.policy._graph import Graph, graph
from onesided.policy._guarantee import Guarantee, together
from onesided.policy._implications import Addition, implied_places
from onesided.policy._intersection import Intersection
from onesided.policy._kinds import KindPolicy
from onesided.policy._local import Local, local
from onesided.policy._neighbourhood import EARTH_RADIUS, Neighbourhood, neighbourhood
from onesided.policy._paths import Path, data_distance, path, paths_from
from onesided.policy._predicate import GroupRule, Predicate, Rule
from onesided.policy._presence import Presence, presence
from onesided.policy._sensitive_presence import SensitivePresence, sensitive_presence
from onesided.policy._shift import ABSENT, Edge, Record, Shift, relaxed_before
from onesided.policy._view import View, view

__all__ = [
    "ABSENT", "EARTH_RADIUS", "Addition", "Attributes", "CellMoves", "Cells", "Edge", "Family",
    "Field", "Graph", "GroupCount", "GroupRule", "Guarantee", "Intersection", "KindPolicy", "Local",
    "Neighbourhood", "Option", "Path", "Policy", "Predicate", "Presence", "Record", "Rule",
    "SensitivePresence", "Shift", "View", "Widened", "addition_only", "attributes", "bounded",
    "custom", "data_distance", "extended_sensitive", "families", "from_toml", "graph",
    "implied_places", "joint_records", "local", "neighbourhood", "path", "paths_from",
    "possible_pairs", "presence", "proposition", "relaxed_before", "removal_only", "sensitive",
    "sensitive_presence", "tiers", "together", "unbounded", "view",
]  # fmt: skip
