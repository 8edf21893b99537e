"""Small monitors over text places and whole-number times."""

import pytest

from onesided import Monitor, policy


@pytest.fixture
def make(tmp_path):
    """Open a monitor; the same state again unless told otherwise."""

    def opened(**given):
        options = {
            "keys": ["a", "b", "c"],
            "at_most": 2,
            "window": 10,
            "epsilon": 1,
            "policy": policy.presence(max_groups=1),
            "state": tmp_path / "state.db",
        } | given
        made.append(Monitor(options.pop("keys"), **options))
        return made[-1]

    made = []
    yield opened
    for monitor in made:
        monitor.close()
