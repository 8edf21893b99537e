"""The cases in a file of the user's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from onesided.errors import OnesidedError, ParameterError, first_line
from onesided.verify._own_case import Case


def cases_in(path: Path) -> list[Case]:
    """Every :class:`Case` that the module at ``path`` holds, by itself or in a list.

    Runs the file. Errors: ParameterError if it cannot be run or holds none.

    >>> words = "import onesided as od; policy = od.policy.presence(max_groups=1); "
    >>> case = "case = od.verify.Case(od.mechanism.Counts(1, od.INFINITE), policy, 1)"
    >>> written = Path("mine_in_the_docs.py").write_text(words + case)
    >>> len(cases_in(Path("mine_in_the_docs.py")))
    1
    """
    found = list(_held(_loaded(path)))
    if not found:
        raise ParameterError(
            f"{path.name} holds no onesided.verify.Case.",
            hint="Write for example: case = onesided.verify.Case(mechanism, policy, epsilon).",
        )
    return found


def _loaded(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    if not path.is_file() or path.suffix != ".py" or spec is None or spec.loader is None:
        raise ParameterError(
            f"{path} is not a Python file.", hint="Give a file such as mine.py that holds Cases."
        )
    if path.stem in sys.modules:
        raise ParameterError(
            f"{path.name} has the name of a module that is already loaded.",
            hint="Rename the file, for example to my_mechanism.py.",
        )
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))  # so that it finds its neighbours
    try:
        spec.loader.exec_module(module)
    except OnesidedError:
        raise
    except Exception as error:
        del sys.modules[path.stem]
        raise ParameterError(
            f"{path.name} could not be run: {type(error).__name__}: {first_line(error)}.",
            hint="Run it with python first.",
        ) from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _held(module: ModuleType) -> Iterator[Case]:
    seen: set[int] = set()
    for name, value in vars(module).items():
        for case in value if isinstance(value, list | tuple) else (value,):
            if isinstance(case, Case) and id(case) not in seen and not name.startswith("__"):
                seen.add(id(case))
                yield case
