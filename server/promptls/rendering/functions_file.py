"""The user's Python file of functions that templates may call, and stand-ins for missing ones."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from promptls.rendering.outcome import RenderFailure
from promptls.security.files import read_text

_LOOKED_UP_ON_ALL: Final = frozenset({"unsafe_callable", "alters_data", "jinja_pass_arg"})
"""Attributes that Jinja and its sandbox look up on callables, and those with `_` on every object."""


class StandIn:
    """A function in place of a missing one, which is printed with its name and without its address."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<{self._name}>"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Return the first argument, or without arguments the name of the function."""
        given = [*arguments, *keywords.values()]
        first = given[0] if given else repr(self)
        return StandInText(first) if type(first) is str else first


class StandInText(str):
    """A text that can also be used like a list, a mapping or an object, as a real function may return."""

    __slots__ = ()

    def __iter__(self) -> Iterator[StandInText]:
        """Yield two elements, enough to show what a loop repeats."""
        return iter((self._below(" 1"), self._below(" 2")))

    def __getattr__(self, name: str) -> StandInText:
        if name.startswith("_") or name in _LOOKED_UP_ON_ALL:
            raise AttributeError(name)
        return self._below(f".{name}")

    def __call__(self, *_arguments: Any, **_keywords: Any) -> StandInText:
        """Return the result of a method call."""
        return self

    def _below(self, suffix: str) -> StandInText:
        is_placeholder = self.startswith("<") and self.endswith(">")
        return StandInText(f"{self[:-1]}{suffix}>" if is_placeholder else f"{self}{suffix}")


MODULE_PREFIX = "promptls_functions_"


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A file that was run, with the contents and modification times of its dependencies."""

    source: str
    imported: Mapping[Path, int]
    names: Mapping[str, Callable[..., Any]]


_loaded: dict[str, _Loaded] = {}
_folders: set[Path] = set()


def load_functions(
    path: str | None, unsaved: Mapping[str, str]
) -> Mapping[str, Callable[..., Any]] | RenderFailure:
    """Return the public functions of the file at `path` by name; the file is rerun only after a change.

    The public functions are those in `__all__`, or else those defined in the file whose names do not begin
    with an underscore. The file can import modules beside it. Without a path, the result is empty.
    """
    if path is None:
        return {}
    try:
        source = unsaved[path] if path in unsaved else read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return RenderFailure("functions", f"The functions file {path} cannot be read: {reason}.", path)
    known = _loaded.get(path)
    if known and known.source == source and known.imported == _times(known.imported):
        return known.names
    folder = Path(path).absolute().parent
    _import_from(folder)
    module = ModuleType(MODULE_PREFIX + Path(path).stem)
    module.__file__ = path
    sys.modules[module.__name__] = module
    # Bytecode files beside the user's files would be left behind, and could be mistaken for current ones.
    sys.dont_write_bytecode = True
    try:
        exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102 - the purpose of this module
    except SyntaxError as error:
        where = error.filename or path
        message = f"{Path(where).name} is not valid Python: {error.msg}."
        return RenderFailure("functions", message, where, (error.lineno or 1) - 1)
    except BaseException as error:  # noqa: BLE001 - a user's code may raise anything
        return _failure_of(error, path)
    names = _public(module)
    _loaded[path] = _Loaded(source, _times(_modules_in(folder)), names)
    return names


def line_in_functions(error: BaseException | None, path: str) -> int | None:
    """Return the 0-based line of the functions file that `error` was raised at or came through, if any."""
    line = None
    for frame, line_number in traceback.walk_tb(error.__traceback__ if error else None):
        if frame.f_code.co_filename == path:
            line = line_number - 1
    return line


def _failure_of(error: BaseException, path: str) -> RenderFailure:
    """Return the failure for an `error` raised while running the file."""
    line = line_in_functions(error, path)
    place = f"line {line + 1} of {path}" if line is not None else path
    message = f"The functions file fails when it is run, at {place}: {type(error).__name__}: {error}"
    return RenderFailure("functions", message, path, line)


def _public(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the functions of `module` that templates may call."""
    chosen = getattr(module, "__all__", None)
    if isinstance(chosen, list | tuple):
        return {str(name): getattr(module, name) for name in chosen if hasattr(module, name)}
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and callable(value)
        and not inspect.isclass(value)
        and getattr(value, "__module__", None) == module.__name__
    }


def _modules_in(folder: Path) -> dict[Path, str]:
    """Return the files under `folder` that modules were imported from, excluding installed packages."""
    found: dict[Path, str] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.split(".")[0] in {"promptls", "__main__"} or name.startswith(MODULE_PREFIX) or not file:
            continue
        path = Path(file).absolute()
        if path.is_relative_to(folder) and "site-packages" not in path.parts:
            found[path] = name
    return found


def _import_from(folder: Path) -> None:
    """Let modules be imported from `folder`, and from no other folder of functions files.

    Modules from such folders are removed, to be imported again: they may have changed, and two folders may
    contain modules of the same name.
    """
    for other in _folders:
        if str(other) in sys.path:
            sys.path.remove(str(other))
        for name in _modules_in(other).values():
            del sys.modules[name]
    _folders.add(folder)
    # At the end, so that a file beside the functions cannot shadow a library.
    sys.path.append(str(folder))
    importlib.invalidate_caches()


def _times(paths: Mapping[Path, Any]) -> dict[Path, int]:
    """Return the modification times in nanoseconds; 0 for a missing file."""
    return {path: path.stat().st_mtime_ns if path.is_file() else 0 for path in paths}
