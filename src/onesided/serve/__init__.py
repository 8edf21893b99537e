"""A service for people who may not see the rows: HTTP API, people, budgets, published releases.

Needs the extra ``serve``. Nothing of the library imports this package; ``onesided serve`` does.
"""

from onesided.serve._app import create_app
from onesided.serve._config import DatasetConfig, MonitorConfig, OidcConfig, ServiceConfig

__all__ = ["DatasetConfig", "MonitorConfig", "OidcConfig", "ServiceConfig", "create_app"]
