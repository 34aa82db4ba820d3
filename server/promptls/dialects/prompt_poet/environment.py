"""The Jinja environment that templates run in: stock Jinja, with or without its sandbox."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import BaseLoader, BytecodeCache, Environment, TemplateNotFound, Undefined
from jinja2.bccache import Bucket
from jinja2.exceptions import SecurityError
from jinja2.loaders import split_template_path
from jinja2.sandbox import SandboxedEnvironment, SandboxedFormatter
from markupsafe import Markup

from promptls.security.files import is_file, read_bytes

_MAX_TEMPLATE_BYTES = 1_000_000_000
MAX_TEMPLATES = 128
"""The maximum number of compiled templates in a cache."""


class FolderLoader(BaseLoader):
    """Templates by name from one folder, unsaved texts first.

    As in Prompt Poet, every name is relative to the folder of the entry template, regardless of the including
    file; `..` is rejected; a leading `/` and `./` are ignored.
    """

    def __init__(self, folder: str | Path, unsaved: Mapping[str, str]) -> None:
        """Load from `folder`; `unsaved` maps absolute paths to unsaved texts."""
        self.folder = Path(os.path.normpath(Path(folder).absolute()))
        self.loaded: set[str] = set()
        """The absolute paths of the files that were requested and found so far."""
        self.texts: dict[str, str] = {}
        """The texts of the files that were read, by path."""
        self._unsaved = {_key(path): text for path, text in unsaved.items()}

    def path_of(self, name: str) -> Path:
        """Return the absolute path of `name`; raises TemplateNotFound for names with `..`."""
        return self.folder.joinpath(*split_template_path(name))

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return the text and path of the template named `template`, for Jinja.

        Raises TemplateNotFound, or UnicodeDecodeError if a file is not UTF-8.
        """
        del environment
        path = self.path_of(template)
        text = self._unsaved.get(_key(path))
        if text is None:
            if not is_file(path):
                raise TemplateNotFound(template)
            # Line breaks are not normalized: Jinja accepts all of them, but offsets refer to the file.
            text = read_bytes(path, limit=_MAX_TEMPLATE_BYTES).decode("utf-8")
        self.loaded.add(str(path))
        self.texts[str(path)] = text
        return text, str(path), lambda: True


def _key(path: str | Path) -> str:
    """Normalize an absolute path to one spelling."""
    return os.path.normcase(os.path.normpath(Path(path).absolute()))


class CompiledTemplates(BytecodeCache):
    """An in-memory cache of compiled templates, by path and text."""

    def __init__(self) -> None:
        """Create an empty cache."""
        self._code: OrderedDict[str, tuple[str, object]] = OrderedDict()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill `bucket` with the code of the same text, if that is cached."""
        known = self._code.get(bucket.key)
        if known is not None and known[0] == bucket.checksum:
            self._code.move_to_end(bucket.key)
            bucket.code = known[1]  # type: ignore[assignment] # Jinja declares code objects as None here

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Cache the code of `bucket`, and drop the least recently used one above the limit."""
        self._code[bucket.key] = (bucket.checksum, bucket.code)
        while len(self._code) > MAX_TEMPLATES:
            self._code.popitem(last=False)


class Sandbox(SandboxedEnvironment):
    """Jinja's sandbox, modified to raise for a forbidden attribute instead of printing nothing."""

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        """Raise SecurityError."""
        raise SecurityError(f"access to attribute {attribute!r} of {type(obj).__name__!r} object is unsafe.")

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Return a safe version of `value` if it is `str.format`, or else None."""
        guarded = super().wrap_str_format(value)
        if guarded is None or isinstance(value.__self__, Markup) or value.__name__ != "format":
            return guarded
        text: str = value.__self__

        def format_text(*arguments: Any, **named: Any) -> str:
            return type(text)(_Formatter(self).vformat(text, arguments, named))

        return format_text


class _Formatter(SandboxedFormatter):
    """A formatter that fails like `str.format`; Jinja's own mixes up items and attributes."""

    def __init__(self, environment: Sandbox) -> None:
        super().__init__(_Attributes(environment))  # type: ignore[arg-type] # it uses only these two methods


class _Attributes:
    """Attribute and item access like in Python, except for those that the sandbox forbids."""

    def __init__(self, environment: Sandbox) -> None:
        self._environment = environment

    def getattr(self, of: Any, name: str) -> Any:
        """Return the attribute; raises AttributeError, or SecurityError."""
        value = getattr(of, name)
        if not self._environment.is_safe_attribute(of, name, value):
            self._environment.unsafe_undefined(of, name)
        return value

    def getitem(self, of: Any, key: Any) -> Any:
        """Return the item; raises the same exceptions as Python."""
        return of[key]


def make_environment(
    loader: BaseLoader, *, sandboxed: bool = True, compiled: CompiledTemplates | None = None
) -> Environment:
    """Create the Jinja environment of Prompt Poet: no extensions, trimming or escaping; silent undefined.

    The sandbox forbids attributes that give access to objects outside of a template. Jinja's sandbox also
    limits `range`, unlike stock Jinja; here, callers limit time and memory instead. A cache of compiled
    templates must not be shared between sandboxed and other environments.
    """
    if not sandboxed:
        return Environment(loader=loader, bytecode_cache=compiled)  # noqa: S701 - prompts are not HTML
    environment = Sandbox(loader=loader, bytecode_cache=compiled)
    environment.globals["range"] = range
    return environment
