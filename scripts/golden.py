"""Golden answers: what the code says today, as documents that every later change must reproduce.

    python scripts/golden.py write          write golden/ anew (not the files of today)
    python scripts/golden.py write --only 'answers/Count/*'     only these, such as new ones
    python scripts/golden.py check          compare; tell every difference; 1 if there is any
    python scripts/golden.py check --share 20   only every 20th document, and those of Polars alone
    python scripts/golden.py accept         keep what changed on purpose in golden/changed.json
    python scripts/golden.py verdicts       compare the catalogue's verdicts (five minutes)
    python scripts/golden.py files          make the files of today that are not there

A document has a name, such as ``answers/Count/by place/presence``, and fields, such as
``plan.words``. An intended change is a table of golden/changes.toml::

    [[change]]
    document = "answers/Count/*"    # as in a shell: * is anything
    field = "plan.words"
    reason = "Plans say how many groups there are."

and such a document, as it is from then on, stands in golden/changed.json, which ``accept`` writes:
so the new words are pinned as well. A difference that no table names fails the check; so does one
that is not as it was accepted, and a table that names no difference.

What is not ours is made fixed: noise comes from a seeded source, who asks is "golden", times are
left out, and floats have twelve digits, since the last ones are the processor's. No document holds
a path, a version or a name that was drawn. The tables of questions and policies are in
golden_tables.py. Private names stand in golden_answers.py and golden_files.py, which say why.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

import golden_answers as answers
import golden_command as command
import golden_files as files

ROOT: Final = Path(__file__).resolve().parent.parent
ABSENT: Final = "(absent)"
_WIDTH: Final = 110
_PART: Final = ("polars",)

Documents = dict[str, Any]


class Pair(NamedTuple):
    """A document as it was written, and as it is."""

    name: str
    before: Any
    after: Any


def main() -> int:
    """Run one of the modes; 1 if something is not as it was."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    modes = {
        "write": _write,
        "check": _check,
        "accept": _accept,
        "verdicts": _verdicts,
        "files": lambda given: files.make(given.at / "files"),
    }
    parser.add_argument("mode", choices=modes)
    parser.add_argument("--at", type=Path, default=ROOT / "golden", help="the folder of documents")
    parser.add_argument("--share", type=int, default=1, help="only every so-manieth document")
    parser.add_argument("--only", nargs="+", default=["*"], help="only documents of such names")
    given = parser.parse_args()
    return modes[given.mode](given) or 0


def _write(given: argparse.Namespace) -> None:
    """Every document anew that is asked for, but for the verdicts."""
    makers, before = _makers(given.at), _documents(given.at)
    books: dict[str, Documents] = {}
    for name, make in sorted(makers.items()):
        told = make(None) if _asked(name, given) else before.get(name)
        if told is not None:
            books.setdefault(_book(name), {})[name] = told
    for book, told in books.items():
        place = given.at / f"{book}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(pretty(told) + "\n", encoding="utf-8")


def _check(given: argparse.Namespace) -> int:
    """Every difference that is not intended, and every intention that is none."""
    whole = given.share == 1 and given.only == ["*"]
    engines = _PART if given.share > 1 else None
    return judged(given.at, list(_pairs(given, engines)), whole=whole, engines=engines)


def judged(
    at: Path, pairs: list[Pair], *, whole: bool, engines: tuple[str, ...] | None = None
) -> int:
    """Tell what is wrong; 1 if anything is. whole: whether these are all documents that there are.

    engines: the only ones that were asked.
    """
    changes, accepted = _changes(at), _accepted(at)
    told, met = [], set()
    for name, before, after in pairs:
        if name in accepted:
            kept = _said(name, accepted[name], engines)
            told += [(name, "is not as it was accepted", *one) for one in compared(kept, after)]
            if engines is not None:
                continue
        for field, *one in compared(_said(name, before, engines), after):
            named = {place for place, change in enumerate(changes) if _names(change, name, field)}
            met |= named
            if not named:
                told.append((name, "is not in changes.toml", field, *one))
            elif name not in accepted:
                told.append((name, "is in changes.toml but not accepted", field, *one))
    for name, why, field, was, now in told:
        print(f"{name}: {field} {why}\n  was {_short(was)}\n  is  {_short(now)}")
    idle = [change for place, change in enumerate(changes) if place not in met] if whole else []
    for change in idle:
        print(f"changes.toml names what did not change: {change['document']}, {change['field']}")
    print(f"{len(pairs)} documents, {len(told)} wrong fields, {len(idle)} idle changes.")
    return 1 if told or idle else 0


def _accept(given: argparse.Namespace) -> None:
    """Keep each document that is new in nothing but what changes.toml names."""
    changes = _changes(given.at)
    accepted = _accepted(given.at)
    kept = {name: one for name, one in accepted.items() if not _asked(name, given)}
    for name, before, after in _pairs(given):
        fields = [field for field, *_ in compared(before, after)]
        unnamed = [f for f in fields if not any(_names(one, name, f) for one in changes)]
        if unnamed:
            print(f"{name} is not accepted: {', '.join(unnamed)}")
        elif fields:
            kept[name] = after
    ordered = {name: kept[name] for name in {**accepted, **kept} if name in kept}
    (given.at / "changed.json").write_text(pretty(ordered) + "\n", encoding="utf-8")


def _verdicts(given: argparse.Namespace) -> int:
    """The catalogue again: the same lines, the same words, the same losses."""
    place = given.at / "verdicts.json"
    found = command.verdicts()
    if not place.exists():
        place.write_text(pretty(found) + "\n", encoding="utf-8")
    before = json.loads(place.read_text(encoding="utf-8"))
    names = {**before, **found}
    pairs = [Pair(name, before.get(name, ABSENT), found.get(name, ABSENT)) for name in names]
    return judged(given.at, pairs, whole=False)


def _pairs(given: argparse.Namespace, engines: tuple[str, ...] | None = None) -> Iterator[Pair]:
    makers, before = _makers(given.at), _documents(given.at)
    names = sorted({**before, **makers})
    for name in [one for one in names if _asked(one, given)][:: given.share]:
        made = makers.get(name)
        yield Pair(name, before.get(name, ABSENT), ABSENT if made is None else made(engines))


def _said(name: str, told: Any, engines: tuple[str, ...] | None) -> Any:
    """The part of a document that some engines say."""
    if engines is None or not name.startswith("answers/") or told == ABSENT:
        return told
    return answers.of_engines(told, engines)


def _asked(name: str, given: argparse.Namespace) -> bool:
    return any(fnmatchcase(name, one) for one in given.only)


def _makers(at: Path) -> dict[str, Callable[[tuple[str, ...] | None], Any]]:
    """What makes each document, by its name; given some engines, for those alone."""

    def answer(question: str, variant: str, policy: str, engines: tuple[str, ...]) -> Any:
        return lambda some: answers.document(question, variant, policy, some or engines)

    makers = {
        "/".join(("answers", *name)): answer(*name, engines) for *name, engines in answers.names()
    }
    own = {**answers.documents(), **command.documents(), **files.documents(at / "files")}
    for name, make in own.items():
        makers[name] = lambda _, make=make: answers.plain(make())
    return makers


def _documents(at: Path) -> Documents:
    """All that was written."""
    told: Documents = {}
    for path in (*sorted(at.glob("answers/*.json")), *(at / f"{b}.json" for b in _BOOKS)):
        if path.exists():
            told |= json.loads(path.read_text(encoding="utf-8"))
    return told


_BOOKS: Final = ("questions", "help", "commands", "policies", "files")


def _book(name: str) -> str:
    """The file that a document stands in."""
    first, *rest = name.split("/")
    return f"answers/{rest[0]}" if first == "answers" else first


def compared(before: Any, after: Any, field: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The fields in which two documents differ; a list is one field."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        if json.dumps(before) != json.dumps(after):
            yield field or "*", before, after
        return
    for name in {**before, **after}:
        inner = f"{field}.{name}" if field else name
        yield from compared(before.get(name, ABSENT), after.get(name, ABSENT), inner)
    both = [[name for name in one if name in before and name in after] for one in (before, after)]
    if both[0] != both[1]:
        yield f"{field}.(order)".lstrip("."), *both


def _changes(at: Path) -> list[Mapping[str, str]]:
    """The intended changes. Errors: SystemExit for a table without its three names."""
    place = at / "changes.toml"
    told = tomllib.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    listed: list[Mapping[str, str]] = told.get("change", [])
    for one in listed:
        if set(one) != {"document", "field", "reason"} or not all(one.values()):
            sys.exit(f"changes.toml: a change has document, field and reason, got {one}.")
    return listed


def _accepted(at: Path) -> Documents:
    place = at / "changed.json"
    return json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}


def _names(change: Mapping[str, str], document: str, field: str) -> bool:
    return fnmatchcase(document, change["document"]) and fnmatchcase(field, change["field"])


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 4 * _WIDTH else f"{text[: 4 * _WIDTH]} ..."


def pretty(value: Any, depth: int = 0) -> str:
    """JSON with a line for each part, but for those that fit on one."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + depth <= _WIDTH or not isinstance(value, dict | list):
        return flat
    inner, end = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        return f"[{inner}{f',{inner}'.join(pretty(part, depth + 1) for part in value)}{end}]"
    parts = {json.dumps(k, ensure_ascii=False): pretty(v, depth + 1) for k, v in value.items()}
    return f"{{{inner}{f',{inner}'.join(f'{k}: {v}' for k, v in parts.items())}{end}}}"


if __name__ == "__main__":
    sys.exit(main())
