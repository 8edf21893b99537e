"""Render an HTML file in headless Chromium, without a network, at a desktop and a phone size.

    python scripts/screenshot.py out/report.html docs/pictures/report

writes ``<prefix>-desktop.png`` (1280 x 900), ``<prefix>-phone.png`` (390 x 844) and, with
``--full``, the whole length of the page instead of the first screen. ``--dark`` asks for the dark
theme. The page is shown in a frame of the exact size, as headless windows have a least width.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--virtual-time-budget=8000",
)


def shoot(chromium: str, page: Path, *, out: Path, size: tuple[int, int], dark: bool) -> None:
    """One picture of the page in a frame of exactly this size (CSS pixels)."""
    width, height = size
    with tempfile.TemporaryDirectory() as folder:
        frame = Path(folder, "frame.html")
        frame.write_text(
            "<style>body{margin:0}iframe{border:0;display:block}</style>"
            f'<iframe src="{page.as_uri()}" width="{width}" height="{height}"></iframe>',
            encoding="utf-8",
        )
        command = [
            chromium,
            *FLAGS,
            f"--user-data-dir={folder}/profile",
            f"--window-size={width},{height}",
            f"--screenshot={out}",
            *(["--blink-settings=preferredColorScheme=0"] if dark else []),
            frame.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)  # our own command


def main() -> int:
    """Take the pictures; say so when there is no browser."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("prefix", type=Path)
    parser.add_argument("--full", action="store_true", help="tall pictures of the whole page")
    parser.add_argument("--dark", action="store_true")
    asked = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("chromium not found: apt-get install chromium", file=sys.stderr)
        return 1
    for name, (width, height) in SIZES.items():
        out = asked.prefix.with_name(f"{asked.prefix.name}-{name}.png").resolve()
        tall = {"desktop": 3000, "phone": 5200}[name] if asked.full else height
        shoot(chromium, asked.page.resolve(), out=out, size=(width, tall), dark=asked.dark)
        print(out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
