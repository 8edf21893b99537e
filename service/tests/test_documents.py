"""What the pages about the service show runs as it stands; what it names is there."""

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

for module in ("fastapi", "httpx", "typer", "polars", "duckdb"):
    pytest.importorskip(module)

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def blocks(page, kind):
    return re.findall(rf"```{kind}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def free_port():
    import socket

    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


def has_r():
    """Whether R is here, with what the page names."""
    if (found := shutil.which("Rscript")) is None:
        return False
    command = [found, "-e", "library(httr2); library(jsonlite)"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.heavy
def test_the_commands_of_the_curator_the_analyst_and_the_auditor_run(tmp_path):
    """One story: the curator sets up and starts, the analyst asks, the auditor checks, it stops."""
    text = (DOCS / "service.md").read_text()
    for name, content in re.findall(r'```\w+ title="([\w.-]+)"\n(.*?)```', text, re.DOTALL):
        (tmp_path / name).write_text(content)
    (tmp_path / "analyst.py").write_text("\n".join(blocks("service-analyst.md", "python")))
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, words in (("python", ""), ("onesided", "-m onesided")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (tools / name).chmod(0o755)
    *setting_up, stopping = blocks("service.md", "bash")
    asking = ["python -W error analyst.py\n", *blocks("service-analyst.md", "bash")]
    (tmp_path / "asked.R").write_text("\n".join(blocks("service-analyst.md", "r")))
    if has_r():
        asking.append("Rscript asked.R\n")
    commands = "".join([*setting_up, *asking, *blocks("service-auditor.md", "bash"), stopping])
    port = str(free_port())
    for name in ("analyst.py",):
        place = tmp_path / name
        place.write_text(place.read_text().replace(":8000", f":{port}"))
    done = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", commands.replace("8000", port)],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    log = tmp_path / "service.log"
    assert done.returncode == 0, done.stderr + (log.read_text() if log.exists() else "")
    assert "RemoteSession('visits'" in done.stdout
    assert "certainly at most 200:" in done.stdout
    assert '"release":' in done.stdout
    assert "upper_certain" in done.stdout or not has_r()


def test_what_the_pages_name_is_there():
    for page in ("service.md", "service-auditor.md", "service-threats.md"):
        text = (DOCS / page).read_text()
        for name in re.findall(r"`((?:service/tests|tests|deploy)/[\w./-]+)`", text):
            assert (ROOT / name).exists(), name


def test_the_reference_names_every_address():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import http_reference
    finally:
        sys.path.pop(0)
    description = http_reference.described()
    page = http_reference.reference(description)
    for path in description["paths"]:
        assert f" {path}`" in page
    assert http_reference.MARK in (DOCS / "http.md").read_text()
    assert "/api/v1/datasets/{name}/ask" in page


@pytest.mark.parametrize("unit", sorted((ROOT / "deploy").glob("onesided*")), ids=lambda p: p.name)
def test_units_of_systemd_can_be_read(unit):
    read = configparser.ConfigParser(interpolation=None)
    read.optionxform = str
    read.read(unit)
    assert read.sections()[0] == "Unit"


def test_the_compose_file_can_be_read():
    yaml = pytest.importorskip("yaml")
    made = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
    assert set(made["services"]) == {"database", "service"}
    assert made["services"]["service"]["build"]["dockerfile"] == "deploy/Dockerfile"
    for one in made["secrets"].values():
        assert one["file"].startswith("./secrets/")
