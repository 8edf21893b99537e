"""Options and fixtures shared by all tests."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the long forms of the slow tests")


@pytest.fixture(scope="session")
def long_form(request) -> bool:
    """True when the long statistical and crash tests were asked for."""
    return bool(request.config.getoption("--slow"))
