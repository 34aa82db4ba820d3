"""Compiled templates of a program, kept until their files change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import MutableMapping
from pathlib import Path
from types import CodeType
from typing import Any, Final, TypeAlias

from jinja2 import Environment, Template, TemplateNotFound
from jinja2.sandbox import SandboxedEnvironment

from promptls.systems.prompt_poet.environment import FolderLoader
from promptls.text.file_stamp import Stamp, stamp_of

KEPT_FILES: Final = 1_000
"""How many compiled files are kept, those that were used last."""

_Key: TypeAlias = tuple[str, str, bool]

_lock = threading.Lock()
_kept: OrderedDict[_Key, tuple[Stamp, CodeType]] = OrderedDict()


class CompiledFiles(FolderLoader):
    """Templates of one folder by name, compiled once as long as time and size of their files stay.

    Only code is kept, never a template: what an imported file sets belongs to one rendering.
    """

    def __init__(self, folder: Path) -> None:
        """Look in `folder`."""
        super().__init__(folder, {})

    def load(
        self,
        environment: Environment,
        name: str,
        globals: MutableMapping[str, Any] | None = None,  # noqa: A002 - the name is Jinja's
    ) -> Template:
        """The template `name`, as Jinja asks for it; raises what compiling and reading it raises."""
        path = self.path_of(name)
        # Looked at before the file is read: a change in between is seen the next time.
        stamp = _stamp(path)
        if stamp is None:
            raise TemplateNotFound(name)
        key = (str(path), name, isinstance(environment, SandboxedEnvironment))
        code = _known(key, stamp)
        if code is None:
            source, filename, _ = self.get_source(environment, name)
            code = environment.compile(source, name, filename)
            _keep(key, stamp, code)
        self.loaded.add(str(path))
        return environment.template_class.from_code(environment, code, {} if globals is None else globals)


def _stamp(path: Path) -> Stamp | None:
    return stamp_of(path) if path.is_file() else None


def _known(key: _Key, stamp: Stamp) -> CodeType | None:
    with _lock:
        known = _kept.get(key)
        if known is None or known[0] != stamp:
            return None
        _kept.move_to_end(key)
        return known[1]


def _keep(key: _Key, stamp: Stamp, code: CodeType) -> None:
    with _lock:
        _kept[key] = (stamp, code)
        while len(_kept) > KEPT_FILES:
            _kept.popitem(last=False)
