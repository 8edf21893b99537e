"""Policies: who must be able to pass as whom, in which direction, and how well."""

from onesided.fields import Field
from onesided.policy._attributes import Attributes, Local, attributes, local
from onesided.policy._base import (
    CellMoves,
    Cells,
    GroupCount,
    Policy,
    Predicate,
    Rule,
    Widened,
    joint_records,
    possible_pairs,
)
from onesided.policy._family import Family, Option, families, from_toml
from onesided.policy._guarantee import Guarantee, Path, data_distance, path, paths_from, together
from onesided.policy._intersection import Intersection
from onesided.policy._kinds import (
    KindPolicy,
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
from onesided.policy._neighbourhood import EARTH_RADIUS, Graph, Neighbourhood, graph, neighbourhood
from onesided.policy._presence import (
    Presence,
    SensitivePresence,
    View,
    presence,
    sensitive_presence,
    view,
)
from onesided.policy._shift import ABSENT, Addition, Edge, Record, Shift, implied_places

__all__ = [
    "ABSENT", "EARTH_RADIUS", "Addition", "Attributes", "CellMoves", "Cells", "Edge", "Family",
    "Field", "Graph", "GroupCount", "Guarantee", "Intersection", "KindPolicy", "Local",
    "Neighbourhood", "Option", "Path", "Policy", "Predicate", "Presence", "Record", "Rule",
    "SensitivePresence", "Shift", "View", "Widened", "addition_only", "attributes", "bounded",
    "custom", "data_distance", "extended_sensitive", "families", "from_toml", "graph",
    "implied_places", "joint_records", "local", "neighbourhood", "path", "paths_from",
    "possible_pairs", "presence", "proposition", "removal_only", "sensitive",
    "sensitive_presence", "tiers", "together", "unbounded", "view",
]  # fmt: skip
