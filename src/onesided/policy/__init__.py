"""Policies: who must be able to pass as whom, in which direction, and how well."""

from onesided.policy._base import Policy
from onesided.policy._guarantee import Guarantee
from onesided.policy._kinds import (
    KindPolicy,
    addition_only,
    bounded,
    custom,
    removal_only,
    sensitive,
    unbounded,
)
from onesided.policy._predicate import Predicate, Rule
from onesided.policy._presence import Presence, presence
from onesided.policy._shift import ABSENT, Edge, GroupCount, Record, Shift
from onesided.policy._toml import from_toml

__all__ = [
    "ABSENT",
    "Edge",
    "GroupCount",
    "Guarantee",
    "KindPolicy",
    "Policy",
    "Predicate",
    "Presence",
    "Record",
    "Rule",
    "Shift",
    "addition_only",
    "bounded",
    "custom",
    "from_toml",
    "presence",
    "removal_only",
    "sensitive",
    "unbounded",
]
