"""The command line in this process: starting Python takes longer than most of what is tested.

That each command also starts on its own is tested by ``tests/cli/test_alone.py``, and by what is
killed, interrupted or timed.
"""

import contextlib
import io
import os
import subprocess
import sys
import warnings
from unittest import mock

import pytest

# What Python itself leaves out, where pytest makes errors of it.
QUIET = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


def called(words, *, cwd, env):
    """What ``onesided WORDS`` gives in that folder and that environment, as subprocess.run does."""
    pytest.importorskip("typer")
    from onesided.cli import _run

    words = [str(word) for word in words]
    out, err, none = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(3))
    with (
        contextlib.chdir(cwd),
        mock.patch.dict(os.environ, env, clear=True),
        mock.patch.object(sys, "argv", ["onesided", *words]),
        mock.patch.object(sys, "stdin", none),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.resetwarnings()
        for category in QUIET:
            warnings.simplefilter("ignore", category)
        code = _run()
        told = [stream.flush() or stream.buffer.getvalue().decode() for stream in (out, err)]
    return subprocess.CompletedProcess(words, code, *told)
