"""Distributions are built byte for byte the same from the same files, and hold every file."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ["pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md"]


def built(where, project, *, late, umask):
    """What a build gives in a folder of its own, whose files have other times and rights."""
    old = os.umask(umask)
    try:
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(
            project / "src", where / "src", ignore=skipped, copy_function=shutil.copyfile
        )
        for name in NEEDED:
            if (project / name).exists():
                shutil.copyfile(project / name, where / name)
        for path in where.rglob("*"):
            os.utime(path, (late, late))
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(where / "dist")]
        subprocess.run(command, cwd=where, check=True, capture_output=True)
    finally:
        os.umask(old)
    return {path.name: path for path in (where / "dist").iterdir()}


PROJECTS = [file.parent for file in (ROOT / "pyproject.toml", *ROOT.glob("*/pyproject.toml"))]


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_two_builds_give_the_same_bytes(project, tmp_path):
    pytest.importorskip("hatchling")
    one = built(tmp_path / "one", project, late=1_000_000_000, umask=0o022)
    other = built(tmp_path / "a" / "longer" / "path", project, late=1_700_000_000, umask=0o077)
    assert sorted(one) == sorted(other)
    assert sorted(Path(name).suffix for name in one) == [".gz", ".whl"]
    for name, path in one.items():
        assert path.read_bytes() == other[name].read_bytes(), name


def test_distributions_hold_every_file_of_the_source(tmp_path):
    pytest.importorskip("hatchling")
    made = built(tmp_path / "one", ROOT, late=1_000_000_000, umask=0o022)
    (wheel,) = (path for name, path in made.items() if name.endswith(".whl"))
    (sdist,) = (path for name, path in made.items() if name.endswith(".gz"))
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "onesided").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "onesided/py.typed" in source
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert source == {name for name in packed if ".dist-info/" not in name}
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {f"src/{name}" for name in source} <= names
    assert set(NEEDED) <= names
