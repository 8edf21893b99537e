"""What every durable store shares: files, databases, their locks and errors, canonical text.

Light: SQLAlchemy loads with ``onesided.store.sqlite`` and ``onesided.store.postgres``, on use.
"""

from onesided.store._checked import CheckedFiles
from onesided.store._files import PermissionsWarning, tell_if_open_to_others
from onesided.store._paths import first_bytes, held, remove_drafts, replace_file, scratch
from onesided.store._text import canonical, now, plain_text, read_json
from onesided.store._toml import read_toml, toml_document
from onesided.store._url import DatabaseUrl, address

__all__ = [
    "CheckedFiles",
    "DatabaseUrl",
    "PermissionsWarning",
    "address",
    "canonical",
    "first_bytes",
    "held",
    "now",
    "plain_text",
    "read_json",
    "read_toml",
    "remove_drafts",
    "replace_file",
    "scratch",
    "tell_if_open_to_others",
    "toml_document",
]
