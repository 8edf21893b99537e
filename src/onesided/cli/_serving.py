"""What the commands of a service share: its configuration, and the extra that it needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onesided.errors import MissingDependencyError

if TYPE_CHECKING:
    from onesided.serve import ServiceConfig


def read_config(path: Path) -> ServiceConfig:
    """The service in a TOML file. Errors: ParameterError; MissingDependencyError."""
    try:
        from onesided.serve import ServiceConfig  # noqa: PLC0415 - an extra, loaded on use
    except ImportError as error:
        raise MissingDependencyError(
            f"A service needs {error.name}.",
            hint='Install it with: pip install "onesided[serve]"',
        ) from None
    return ServiceConfig.read(path)
