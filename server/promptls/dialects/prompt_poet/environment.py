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
KEPT_TEMPLATES = 128
"""How many compiled templates a cache of them holds."""


class FolderLoader(BaseLoader):
    """Templates by name from one folder, unsaved texts first.

    As in Prompt Poet, every name is looked up from the folder of the entry template, whichever file
    includes it; `..` is refused; a leading `/` and `./` are ignored.
    """

    def __init__(self, folder: str | Path, unsaved: Mapping[str, str]) -> None:
        """Look in `folder`; `unsaved` maps absolute paths to the texts that count for them."""
        self.folder = Path(os.path.normpath(Path(folder).absolute()))
        self.loaded: set[str] = set()
        """The absolute paths of the files that were asked for and found so far."""
        self.texts: dict[str, str] = {}
        """The texts of those that were read, by path."""
        self._unsaved = {_key(path): text for path, text in unsaved.items()}

    def path_of(self, name: str) -> Path:
        """Return the absolute path that `name` stands for; raises TemplateNotFound for names with `..`."""
        return self.folder.joinpath(*split_template_path(name))

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return the text and path of the template named `template`, as Jinja asks for them.

        Raises TemplateNotFound, or UnicodeDecodeError where a file is not UTF-8.
        """
        del environment
        path = self.path_of(template)
        text = self._unsaved.get(_key(path))
        if text is None:
            if not is_file(path):
                raise TemplateNotFound(template)
            # As it is: to Jinja every line break is one, but places count the characters of the file.
            text = read_bytes(path, limit=_MAX_TEMPLATE_BYTES).decode("utf-8")
        self.loaded.add(str(path))
        self.texts[str(path)] = text
        return text, str(path), lambda: True


def _key(path: str | Path) -> str:
    """Return one spelling for every spelling of an absolute path."""
    return os.path.normcase(os.path.normpath(Path(path).absolute()))


class CompiledTemplates(BytecodeCache):
    """Compiled templates by path and text, in memory: a template that did not change compiles once."""

    def __init__(self) -> None:
        """Begin empty."""
        self._code: OrderedDict[str, tuple[str, object]] = OrderedDict()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill `bucket` with the code of the same text, if it was compiled before."""
        known = self._code.get(bucket.key)
        if known is not None and known[0] == bucket.checksum:
            self._code.move_to_end(bucket.key)
            bucket.code = known[1]  # type: ignore[assignment] # Jinja declares code objects as None here

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of `bucket`, and forget the longest unused one over the limit."""
        self._code[bucket.key] = (bucket.checksum, bucket.code)
        while len(self._code) > KEPT_TEMPLATES:
            self._code.popitem(last=False)


class Sandbox(SandboxedEnvironment):
    """Jinja's sandbox, which fails at a forbidden attribute instead of printing nothing for it."""

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        """Never returns: raises SecurityError."""
        raise SecurityError(f"access to attribute {attribute!r} of {type(obj).__name__!r} object is unsafe.")

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """`str.format` where `value` is that, with the sandbox's attributes; None for anything else."""
        guarded = super().wrap_str_format(value)
        if guarded is None or isinstance(value.__self__, Markup) or value.__name__ != "format":
            return guarded
        text: str = value.__self__

        def format_text(*arguments: Any, **named: Any) -> str:
            return type(text)(_Formatter(self).vformat(text, arguments, named))

        return format_text


class _Formatter(SandboxedFormatter):
    """Fails where `str.format` does; Jinja's own takes items for attributes and prints nothing for others."""

    def __init__(self, environment: Sandbox) -> None:
        super().__init__(_Attributes(environment))  # type: ignore[arg-type] # it asks for these two alone


class _Attributes:
    """Attributes and items as Python has them, without those that the sandbox refuses."""

    def __init__(self, environment: Sandbox) -> None:
        self._environment = environment

    def getattr(self, of: Any, name: str) -> Any:
        """Return the attribute; raises AttributeError, or SecurityError."""
        value = getattr(of, name)
        if not self._environment.is_safe_attribute(of, name, value):
            self._environment.unsafe_undefined(of, name)
        return value

    def getitem(self, of: Any, key: Any) -> Any:
        """Return the item; raises what Python raises."""
        return of[key]


def make_environment(
    loader: BaseLoader, *, sandboxed: bool = True, compiled: CompiledTemplates | None = None
) -> Environment:
    """Stock Jinja as Prompt Poet uses it: no extensions, no trimming, no escaping, silent undefined.

    In the sandbox, attributes that lead out of a template are refused. Jinja's sandbox also bounds
    `range`, which stock Jinja does not: whoever runs the template bounds its time and memory instead.
    A cache of compiled templates must not be shared between sandboxed and other environments.
    """
    if not sandboxed:
        return Environment(loader=loader, bytecode_cache=compiled)  # noqa: S701 - prompts are no HTML
    environment = Sandbox(loader=loader, bytecode_cache=compiled)
    environment.globals["range"] = range
    return environment
