"""What MkDocs does on top: the repository's own pages join the site, and links follow them.

Pages are written for the repository first. Here the README becomes the first page, the changelog
and its like join, and every relative link leads to where its target is on the site.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).resolve().parent))
import http_reference
import reference_tables

ROOT = Path(__file__).resolve().parent.parent
DOCS = "docs"
# Where a file of the repository is on the site.
JOINED = {
    "README.md": "index.md",
    "docs/README.md": "contents.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/RESULTS.md": "measurements.md",
}
_LINK = re.compile(r"(\]\()([^)\s#]+)")
_FETCHED = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(?:https?:)?//[^>]*>')
_ITEM = re.compile(r"^(?:[-*+]|\d+\.) ")


# Pages that mkdocs.yml does not place go to the section of their folder.
SECTIONS = {
    "proofs": "Prove",
    "papers": "Experiments",
    "tutorials": "Start",
    "reference": "Reference",
}


def on_config(config: Any) -> Any:
    """Give every page a place, so that a new one is found before anybody has thought of where."""
    placed = {str(page) for section in config["nav"] for page in _pages(section)}
    docs = Path(config["docs_dir"])
    for path in sorted(page.relative_to(docs).as_posix() for page in docs.rglob("*.md")):
        if path not in placed and path != "README.md":
            name = SECTIONS.get(path.split("/")[0], "Ask")
            next(section[name] for section in config["nav"] if name in section).append(path)
    return config


def _pages(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for part in entry.values() if isinstance(entry, dict) else entry:
            yield from _pages(part)


def on_files(files: Any, *, config: Any) -> Any:
    """Put the repository's pages among those of the site."""
    index = files.get_file_from_path("README.md")
    if index is not None:
        files.remove(index)
    for source, place in JOINED.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Lead links to the site's pages, and give lists the empty line that Markdown asks for."""
    place = page.file.src_uri
    source = next((path for path, to in JOINED.items() if to == place), f"{DOCS}/{place}")
    if http_reference.MARK in markdown:
        told = http_reference.reference(http_reference.described())
        markdown = markdown.replace(http_reference.MARK, told)
    markdown = reference_tables.filled(markdown)
    parts = re.split(r"(^```.*?^```\s*$)", markdown, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [_prose(part, source=source, place=place) for part in parts[::2]]
    if PurePosixPath(place).parent == PurePosixPath("tutorials"):
        # make docs puts the notebook beside the page; MkDocs knows nothing of it.
        name = f"{PurePosixPath(place).stem}.ipynb"
        link = f'\n\n<a href="{name}" download>This page as a notebook</a>\n'
        parts[0] = re.sub(r"(?m)^(# .*)$", lambda found: found[1] + link, parts[0], count=1)
    return "".join(parts)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Refuse a page that would ask another host for anything when it is viewed."""
    found = _FETCHED.search(output)
    if found:
        raise PluginError(f"{page.file.src_uri} asks another host: {found[0]}")
    return output


def _prose(text: str, *, source: str, place: str) -> str:
    text = _LINK.sub(lambda found: found[1] + _target(found[2], source=source, place=place), text)
    text = re.sub(r"^(proves: .*)$", r"\1  ", text, flags=re.MULTILINE)
    lines: list[str] = []
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        starts = _ITEM.match(line) and before.strip() and not before.startswith(" ")
        if starts and not _ITEM.match(before) and not _within_item(lines):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def _within_item(lines: list[str]) -> bool:
    """Whether the lines end in a paragraph that a list's item began."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if _ITEM.match(line):
            return True
    return False


def _target(target: str, *, source: str, place: str) -> str:
    """The link as it must be on the page at ``place``, given how ``source`` has it."""
    if "://" in target or target.startswith("mailto:"):
        return target
    path = os.path.normpath(PurePosixPath(source).parent / target)
    to = JOINED.get(path, path.removeprefix(f"{DOCS}/"))
    return os.path.relpath(to, PurePosixPath(place).parent)
