"""The command line: parse, call, print."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the ``onesided`` command."""
    from onesided.cli._exits import Signals  # noqa: PLC0415 - before all that takes time to load

    code = 130  # of an interruption that came before any signal of ours was caught
    signals = Signals()
    try:
        with signals:
            code = _run()
    except KeyboardInterrupt:
        pass
    # An interruption inside of exec(text), as while dataclasses are made, would have Python end by
    # SIGINT whatever is told here, unless another text is run after it.
    exec("")  # noqa: S102
    sys.exit(signals.code or code)


def _run() -> int:
    try:
        from onesided.cli._app import run  # noqa: PLC0415 - the command line is an extra
    except ImportError as error:
        sys.stderr.write(
            f"The command line needs more packages ({error}).\nHint: pip install 'onesided[cli]'\n"
        )
        return 1
    return run()
