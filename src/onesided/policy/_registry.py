"""Every family of policies: one line each, read by files, the command line, gallery and tests."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from onesided.policy import (
    _attributes,
    _families,
    _graph,
    _intersection,
    _local,
    _neighbourhood,
    _presence,
)
from onesided.policy._family import Family

# A closed table: a stored policy can name these families and nothing else.
_FAMILIES: Final[Mapping[str, Family]] = MappingProxyType(
    {
        family.name: family
        for family in (
            *_families.FAMILIES,
            _presence.FAMILY,
            _attributes.FAMILY,
            _graph.FAMILY,
            _local.FAMILY,
            _neighbourhood.FAMILY,
            _intersection.FAMILY,
        )
    }
)


def families() -> Mapping[str, Family]:
    """Every family of policies by its name.

    >>> from onesided import policy
    >>> sorted(policy.families())[:3]
    ['addition_only', 'attributes', 'bounded']
    """
    return _FAMILIES
