"""The command line: parse, call, print."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the ``onesided`` command."""
    try:
        from onesided.cli._app import run  # noqa: PLC0415 - the command line is an extra
    except ImportError as error:
        sys.exit(
            f"The command line needs more packages ({error}).\nHint: pip install 'onesided[cli]'"
        )
    run()
