"""Releases as a server tells them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from onesided.errors import ParameterError, ServiceError
from onesided.session import release_from_json

Tables = Callable[[Mapping[str, Any]], Any]


def release_of(told: Any, tables: Tables | None) -> Any:
    """The release in a response, or several that were charged as one. Errors: ServiceError."""
    try:
        found = told.get("release") if isinstance(told, dict) else None
        return release_from_json(json.dumps(found), frame=tables)
    except ParameterError as error:
        raise ServiceError(
            f"The server's answer is not a release: {error.reason}",
            hint="Install the version of onesided that the server runs.",
        ) from error
