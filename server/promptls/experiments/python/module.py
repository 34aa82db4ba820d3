"""The Python file of a code-defined experiment, run: its functions, its metrics, its dataset.

Only the process of a run does so, never the language server.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from promptls.metrics.loading import missing_module
from promptls.text.errors import FilePlace, UsageError, UserError


def loaded_module(path: Path) -> ModuleType:
    """Return the module of the file at `path`, which is run once; raises UserError where it cannot be.

    What stands beside the file is imported by its plain name, as when the file is run.
    """
    name = f"_promptls_experiment_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError("the Python file of the experiment is not there", FilePlace(path), "check the path")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a user's file may raise anything
        del sys.modules[name]
        missing = isinstance(error, ModuleNotFoundError) and error.name
        raise UserError(
            f"the Python file of the experiment cannot be run: {type(error).__name__}: {error}",
            FilePlace(path, _line_in(path, error)),
            missing_module(str(error.name))
            if missing and isinstance(error, ModuleNotFoundError)
            else "correct the file; `python` on it shows the same error",
        ) from error
    return module


def value_of(module: ModuleType, name: str, path: Path) -> Any:
    """Return what the module calls `name`; raises UsageError where that is nothing."""
    if not hasattr(module, name):
        raise UsageError(f"the file has no `{name}`", FilePlace(path), "save it, and run again")
    return getattr(module, name)


def _line_in(path: Path, error: BaseException) -> int | None:
    if isinstance(error, SyntaxError):
        return error.lineno - 1 if error.lineno else None
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path and frame.lineno]
    return lines[-1] - 1 if lines else None
