"""Names that a configuration imports and OpenCompass does not have; nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from promptls.convert.python_interpreter import Files
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import Finding
from promptls.syntax.python_places import PythonPlaces
from promptls.text.positions import Span

_PACKAGE: Final = "opencompass"
_CONFIGURATIONS: Final = f"{_PACKAGE}.configs"
_STAR: Final = re.compile(r"^\s*from\s+(\.*)([\w.]*)\s+import\s+\*", re.MULTILINE)
_DEFINED: Final = re.compile(r"^(?:class|def|async def) (\w+)|^(\w+)\s*[:=]", re.MULTILINE)
_MAX_MODULES: Final = 1000


def absent_classes(own: ast.Module, places: PythonPlaces, files: Files) -> Iterator[Finding]:
    """Yield the imported names that no text of the module, or of what it imports with `*`, has."""
    for node in own.body:
        module = node.module if isinstance(node, ast.ImportFrom) and not node.level else None
        if module is None or not module.startswith(f"{_PACKAGE}.") or module.startswith(_CONFIGURATIONS):
            continue
        texts: list[str] | None = None
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            texts = _texts(module, files) if texts is None else texts
            written = re.compile(rf"\b{re.escape(alias.name)}\b")
            if alias.name == "*" or any(written.search(text) or "__getattr__" in text for text in texts):
                continue
            if texts and files.module(f"{module}.{alias.name}") is None:
                start = places.span(alias).start
                known = [name for text in texts for found in _DEFINED.findall(text) for name in found if name]
                message = f"`{module}` has no `{alias.name}`"
                yield misspelled(Span(start, start + len(alias.name)), message, alias.name, known)


def _texts(module: str, files: Files) -> list[str]:
    """Return the texts of a module and of all that it imports with `*`; nothing if one is not found."""
    waiting, found = [module], dict[str, str]()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        path = files.module(name)
        text = files.text(path) if path is not None else None
        if path is None or text is None or len(found) == _MAX_MODULES:
            return []
        found[name] = text
        steps = [*name.split("."), *([""] if path.endswith("__init__.py") else [])]
        for dots, inner in _STAR.findall(text):
            around = steps[: len(steps) - len(dots)] if dots else []
            waiting.append(".".join([*around, *([inner] if inner else [])]))
    return [*found.values()]
