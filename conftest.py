"""Options and fixtures shared by all tests."""

import hypothesis
import pytest

# No time limits in tests, and the same examples on every run: a failure can be reproduced.
hypothesis.settings.register_profile("onesided", deadline=None, derandomize=True)
hypothesis.settings.load_profile("onesided")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the long forms of the slow tests")


@pytest.fixture(scope="session")
def long_form(request) -> bool:
    """True when the long statistical and crash tests were asked for."""
    return bool(request.config.getoption("--slow"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Start with what one worker has to do alone, so that the other never waits for it."""
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)
