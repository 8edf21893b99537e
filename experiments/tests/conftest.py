import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The experiments are a distribution of their own: make test-heavy runs their tests."""
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker("heavy")


@pytest.fixture(scope="session")
def data():
    folder = Path(os.environ.get("ONESIDED_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "clicks" / "bms_webview1.parquet").is_file():
        pytest.skip("skipped: data not found")
    return folder
