"""What every durable store shares: files, databases, their locks and errors, canonical text.

Light: SQLAlchemy loads with ``onesided.store.sqlite`` and ``onesided.store.postgres``, on use.
"""

from onesided.store._paths import (
    CheckedFiles,
    DatabaseUrl,
    PermissionsWarning,
    address,
    first_bytes,
    held,
    remove_drafts,
    replace_file,
    scratch,
    tell_if_open_to_others,
)
from onesided.store._text import canonical, now, plain_text, read_json, read_toml, toml_document

__all__ = [
    "CheckedFiles", "DatabaseUrl", "PermissionsWarning", "address", "canonical", "first_bytes",
    "held", "now", "plain_text", "read_json", "read_toml", "remove_drafts", "replace_file",
    "scratch", "tell_if_open_to_others", "toml_document",
]  # fmt: skip
