"""Plug-ins: loaded when they are asked for, refused in our words when they are broken."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import called

import onesided
from onesided import errors, verify
from onesided._plugins import CHECKS, LINES, load, plugins

SOURCE = Path(onesided.__file__).parent


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a made-up distribution with one plug-in on the path."""

    def installed(name, group, module, target="app", *, owner="made-up"):
        folder = tmp_path / owner
        info = folder / f"{owner.replace('-', '_')}-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {owner}\nVersion: 1\n")
        file = f"plugin_{name}_{owner.replace('-', '_')}"
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {file}:{target}\n")
        (folder / f"{file}.py").write_text(module)
        monkeypatch.delitem(sys.modules, file, raising=False)
        monkeypatch.syspath_prepend(str(folder))
        importlib.invalidate_caches()
        env = {"PATH": "/usr/bin:/bin", "COLUMNS": "200"}
        return lambda *words: called(words, cwd=tmp_path, env=env)

    return installed


def test_a_command_of_another_distribution_is_run_and_listed(install):
    module = "import typer\napp = typer.Typer()\n@app.command()\ndef hello():\n    print('hello')\n"
    run = install("greet", "onesided.commands", module)
    assert "Added by made-up" in run("--help").stdout
    done = run("greet")
    assert (done.returncode, done.stdout.strip()) == (0, "hello")


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("raise RuntimeError('no such moon')", "RuntimeError: no such moon"),
        ("import nowhere_at_all", "ModuleNotFoundError"),
        ("other = 1", "AttributeError"),
        ("app = 'a text'", "is of type str, not Typer"),
    ],
)
def test_a_broken_command_is_our_error_and_hinders_no_other(install, module, said):
    run = install("greet", "onesided.commands", module)
    assert "Added by made-up" in run("--help").stdout
    assert run("explain", "bounded").returncode == 0
    done = run("greet", "now")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert said in done.stderr
    assert "pip uninstall made-up" in done.stderr


def test_a_plug_in_never_takes_the_place_of_our_own_command(install):
    run = install("explain", "onesided.commands", "raise RuntimeError('loaded')")
    assert run("explain", "bounded").returncode == 0


def test_two_plug_ins_of_one_name_are_refused(install):
    install("moon", LINES, "def cases():\n    return []\n", "cases")
    install("moon", LINES, "def cases():\n    return []\n", "cases", owner="another")
    with pytest.raises(errors.PluginError, match="another and made-up"):
        verify.catalogue("moon")


@pytest.mark.parametrize(
    ("name", "module", "said"),
    [
        (
            "raises",
            "def cases():\n    raise ZeroDivisionError('deep')\n",
            "ZeroDivisionError: deep",
        ),
        ("late", "def cases():\n    yield 1 / 0\n", "ZeroDivisionError"),
        ("strange", "def cases():\n    return ['a text']\n", "returns str where a Line is due"),
        ("value", "cases = 3\n", "is of type int, not Callable"),
        ("nothing", "def cases():\n    return None\n", "TypeError"),
    ],
)
def test_broken_checks_are_our_error(install, name, module, said):
    install(name, LINES, module, "cases")
    with pytest.raises(errors.PluginError, match=said) as caught:
        verify.catalogue(name)
    assert "pip uninstall made-up" in caught.value.hint


def test_checks_of_another_distribution_join_the_table(install):
    module = (
        "from onesided import mechanism, policy, verify\n"
        "def cases():\n"
        "    yield verify.shipped(mechanism.Counts(1, 1), policy.bounded(), name='Theirs')\n"
    )
    install("theirs", LINES, module, "cases")
    assert "theirs" in plugins(LINES)
    (verdict,) = verify.verdicts(source="theirs", processes=1)
    assert verdict.right
    assert verdict.case.name == "Theirs"


def test_checks_of_their_own_kind_are_run_as_they_are_read(install):
    module = (
        "from onesided.verify import CheckResult\n"
        "def checks():\n"
        "    yield CheckResult('tide', 'the sea', 'high', accepted=True, sound=True)\n"
        "    yield 3\n"
    )
    install("tides", CHECKS, module, "checks")
    found = verify.own_checks("tides")
    assert next(found).name == "tide"
    with pytest.raises(errors.PluginError, match="returns int where a CheckResult is due"):
        next(found)
    assert verify.verdicts(only="tides") == []


def test_unknown_names_are_refused():
    with pytest.raises(errors.ParameterError, match="no checks from 'moon'"):
        verify.catalogue("moon")
    with pytest.raises(errors.PluginError, match="no distribution"):
        load(LINES, "moon", object)


# Python as it is where the library alone is installed.
ALONE = (
    "import importlib.metadata as m, sys; m.entry_points = lambda **_: ();"
    "sys.modules |= dict.fromkeys(['onesided_service', 'onesided_experiments']);"
)


def alone(code, folder):
    return subprocess.run(
        [sys.executable, "-c", ALONE + code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "200"},
    )


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["papers", "list"], "experiments"),
        (["serve", "--demo"], "service"),
        (["serve", "--help"], "service"),
        (["people", "add", "ann", "--role", "visits:analyst"], "service"),
        (["datasets"], "service"),
    ],
)
def test_commands_of_parts_that_are_missing_say_how_to_get_them(tmp_path, words, part):
    code = f"sys.argv = ['onesided', *{words}]; import onesided.cli; onesided.cli.main()"
    done = alone(code, tmp_path)
    assert done.returncode == 2
    assert (
        f"'onesided {words[0]}' comes with onesided-{part}, which is not installed." in done.stderr
    )
    assert f"pip install onesided-{part}, or in a copy of the repository" in done.stderr


def test_the_help_lists_commands_of_parts_that_are_missing_in_their_places(tmp_path):
    code = "sys.argv = ['onesided', '--help']; import onesided.cli; onesided.cli.main()"
    done = alone(code, tmp_path)
    listed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("│ ")]
    assert listed[listed.index("monitor") :] == [
        "monitor", "serve", "ledger", "people", "datasets", "papers",
    ]  # fmt: skip
    assert done.stdout.count("; needs onesided-service.") == 3


def test_names_of_a_service_that_is_missing_say_how_to_get_it(tmp_path):
    done = alone("import onesided.serve as s; print(dir(s)); s.create_app", tmp_path)
    assert "'ServiceConfig', 'create_app'" in done.stdout
    assert "MissingDependencyError: create_app comes with onesided-service, which" in done.stderr
    assert "pip install onesided-service" in done.stderr
    done = alone("from onesided.serve import ServiceConfig", tmp_path)
    assert "MissingDependencyError: ServiceConfig comes with onesided-service" in done.stderr


@pytest.mark.parametrize("name", ["bounds.laplace_noise", "mechanism.ContinualCount"])
def test_what_only_papers_use_says_how_to_get_it_where_it_is_missing(tmp_path, name):
    done = alone(f"import onesided as od; od.bounds.certified_share; od.{name}", tmp_path)
    own = name.partition(".")[2]
    assert f"MissingDependencyError: {own} comes with onesided-experiments" in done.stderr
    assert "pip install onesided-experiments" in done.stderr


def test_the_library_knows_nothing_of_other_parts_but_where_to_get_them():
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in SOURCE.rglob("*.py")}
    assert not [name for name, text in texts.items() if "onesided_experiments" in text]
    named = {name for name, text in texts.items() if "onesided-experiments" in text}
    assert named == {"cli/_app.py", "bounds/__init__.py", "mechanism/__init__.py"}
    assert {n for n, text in texts.items() if "onesided_service" in text} == {"serve.py"}
