"""Failures in rendering, counting or truncating a template, with their locations."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from jinja2 import (
    Environment,
    TemplateNotFound,
    TemplatesNotFound,
    TemplateSyntaxError,
    UndefinedError,
    nodes,
)
from jinja2.exceptions import SecurityError, TemplateRuntimeError
from jinja2.parser import Parser
from jinja2.utils import internal_code

from promptls.dialects.prompt_poet.environment import FolderLoader
from promptls.dialects.prompt_poet.vocabulary import escape
from promptls.text.format import in_code
from promptls.text.suggest import nearest

Kind: TypeAlias = Literal[
    "data", "load", "render", "sandbox", "memory", "yaml", "parts", "tokens", "truncation"
]
"""The stage that failed; `sandbox` is an access that the sandbox forbids."""


class PromptPoetError(Exception):
    """A failure at one of Prompt Poet's stages: the problem, its location, and the remedy.

    `line` is the 0-based line of the template file `path`. `rendered_line` and `rendered_column`
    are a 0-based position in the rendered text, with the line breaks of YAML 1.1, and `excerpt` shows the
    rendered lines around it. Each is None if unknown. `cause` is the name of the exception that Prompt Poet
    raises.
    """

    def __init__(  # noqa: PLR0913 - each argument is one field of the failure
        self,
        kind: Kind,
        message: str,
        *,
        cause: str = "ValueError",
        path: str | None = None,
        line: int | None = None,
        rendered_line: int | None = None,
        rendered_column: int | None = None,
        excerpt: str | None = None,
    ) -> None:
        """Set all fields; `message` is also the exception's text."""
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.cause = cause
        self.path = path
        self.line = line
        self.rendered_line = rendered_line
        self.rendered_column = rendered_column
        self.excerpt = excerpt


_LINES: Final = re.compile(r"^debug_info = '([0-9=&]*)'$", re.MULTILINE)
"""The mapping from lines of generated code to lines of the template."""


class CompilePlace(NamedTuple):
    """The template file that was being compiled, and its 0-based line, if known."""

    path: str | None
    line: int | None


def _compile_place(error: BaseException) -> CompilePlace | None:
    """Return where `error` stopped the compilation of a template; None if it was raised elsewhere."""
    path: str | None = None
    line: int | None = None
    code = ""
    is_compiling = False
    for frame, _ in traceback.walk_tb(error.__traceback__):
        names = frame.f_locals
        of: Any = names.get("self")
        node = of if isinstance(of, nodes.Node) else names.get("node")
        if frame.f_code is Environment.compile.__code__:
            is_compiling, path, line = True, names["filename"], None
        elif isinstance(of, Parser):
            line = of.stream.current.lineno - 1
        elif isinstance(node, nodes.Node) and not isinstance(node, nodes.Template):
            line = node.lineno - 1
        source = names.get("source")
        if isinstance(source, str) and _LINES.search(source):
            code = source
    if not is_compiling:
        return None
    if isinstance(error, SyntaxError) and error.lineno is not None:
        line = _line_of(code, error.lineno)
    elif line is None and code:
        # Python could not compile a deeply nested expression, which has the longest line.
        lines = code.split("\n")
        line = _line_of(code, 1 + max(range(len(lines)), key=lambda line_number: len(lines[line_number])))
    return CompilePlace(path, line)


def _line_of(code: str, line_number: int) -> int | None:
    """Return the 0-based line of the template for the line `line_number` of the generated code."""
    found = _LINES.search(code)
    line: int | None = None
    for pair in found[1].split("&") if found and found[1] else ():
        template, generated = map(int, pair.split("="))
        if generated <= line_number:
            line = template - 1
    return line


_UNKNOWN_NAME = re.compile(r"No (filter|test) named '([^']*)'")


def load_failure(
    error: Exception, environment: Environment, loader: FolderLoader, name: str
) -> PromptPoetError:
    """Return the failure for an `error` raised in loading or compiling the entry template `name`."""
    path = str(loader.path_of(name) if name else loader.folder)
    cause = type(error).__name__
    if isinstance(error, TemplateSyntaxError):
        return _syntax_failure(error, environment, path)
    if isinstance(error, TemplateNotFound):
        return PromptPoetError(
            "load", f"There is no template {path}: check the path.", cause=cause, path=path
        )
    message = _uncompiled(error) or f"The template cannot be read: {error}."
    kind: Kind = "memory" if isinstance(error, MemoryError) else "load"
    place = _compile_place(error)
    return PromptPoetError(kind, message, cause=cause, path=path, line=place.line if place else None)


def _uncompiled(error: Exception) -> str | None:
    """Return why a template with valid syntax cannot be compiled, if known."""
    if isinstance(error, RecursionError):
        return "The template nests brackets or blocks too deeply for Jinja: split it with `{% set %}`."
    if isinstance(error, SyntaxError) and "argument" in error.msg:
        return f"A name is given twice: {error.msg}. Remove one of them."
    if isinstance(error, SyntaxError):
        return "The template nests its blocks too deeply for Python: put some into a macro or another file."
    if isinstance(error, MemoryError):
        return "The template needs more memory than its limit: look for a huge expression."
    if isinstance(error, UnicodeDecodeError):
        return f"The template is not UTF-8 (byte {error.start}): save it as UTF-8."
    if "integer string conversion" in str(error):
        return "A number has too many digits for Python: make it smaller."
    return None


def render_failure(error: Exception, environment: Environment, loader: FolderLoader) -> PromptPoetError:
    """Return the failure for a rendering `error`, at the template line that was running."""
    path, line = _place(error, loader.loaded)
    cause = type(error).__name__
    if isinstance(error, TemplateSyntaxError):
        # The error is in an included file, and was raised when the include statement ran.
        failure = _syntax_failure(error, environment, error.filename or path)
        failure.kind = "render"
        return failure
    compiling = None if isinstance(error, TemplateNotFound) else _compile_place(error)
    if compiling is not None and (message := _uncompiled(error)):
        kind: Kind = "memory" if isinstance(error, MemoryError) else "render"
        return PromptPoetError(kind, message, cause=cause, path=compiling.path, line=compiling.line)
    if isinstance(error, MemoryError):
        message = "The template needs more memory than its limit: look for a loop or a value that grows."
        return PromptPoetError("memory", message, cause=cause, path=path, line=line)
    if isinstance(error, SecurityError):
        message = f"The sandbox of the template forbids this: {error}"
        return PromptPoetError("sandbox", message, cause=cause, path=path, line=line)
    return PromptPoetError(
        "render", _message_of(error, environment, loader), cause=cause, path=path, line=line
    )


NO_NAMESPACE: Final = "non-namespace"
"""What Jinja says of an attribute that is set of anything else, such as all data."""
NO_CALLER: Final = "No caller defined"
"""What Jinja says of a macro that reads its `caller` and is not called by a `call` block."""
_REMEDIES: Final = {
    "'builtin_function_or_method' object": (
        ". In Jinja `mapping.items`, `.keys`, `.values`, … are methods, also where the data have a key of "
        'that name: write `mapping["items"]`.'
    ),
    "is not iterable": ": pass a list, or guard it with `is iterable`.",
    "no loader": ". Save the template to a file, so that its includes can be found.",
    NO_NAMESPACE: ": make it with `{% set … = namespace() %}`.",
}
"""What follows messages that have a text in them."""


def _message_of(error: Exception, environment: Environment, loader: FolderLoader) -> str:
    """Return the problem and the remedy."""
    if isinstance(error, TemplateNotFound):
        return _not_found(error, loader)
    if isinstance(error, UndefinedError) and "has no" in str(error):
        return f"{error}. Give the value the shape that the template expects, or guard it with `is defined`."
    if isinstance(error, UndefinedError) and NO_CALLER in str(error):
        return f"{error}: this macro must be called by a block, `{{% call … %}}`, and not by `{{{{ … }}}}`."
    if isinstance(error, UndefinedError):
        return f"{error}. Pass it in the template data, or guard it with `{{% if … %}}` or `| default(…)`."
    if isinstance(error, RecursionError):
        return "The template never ends: a file includes itself, or a macro calls itself."
    if isinstance(error, TemplateRuntimeError) and (hint := _hint(str(error), environment)):
        return f"{error} {hint}"
    if isinstance(error, UnicodeDecodeError):
        return f"An included file is not UTF-8 (byte {error.start}): save it as UTF-8."
    remedy = next((remedy for text, remedy in _REMEDIES.items() if text in str(error)), None)
    if remedy is not None:
        return f"{error}{remedy}"
    if _is_of_escape(error):
        return (
            f"`escape_special_characters` accepts only text ({error}): write "
            "`escape_special_characters(value | string)`."
        )
    if isinstance(error, ArithmeticError | TypeError | ValueError | LookupError | AttributeError):
        return (
            f"This line cannot be evaluated: {type(error).__name__}: {error}. Check the values that it gets."
        )
    return f"This line fails with {type(error).__name__}: {error}. Check what it calls."


def _is_of_escape(error: Exception) -> bool:
    """Return whether `escape_special_characters` was called with a value that is not text."""
    frames = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1] is escape.__code__


def _not_found(error: TemplateNotFound, loader: FolderLoader) -> str:
    """Return the message for an include or import of a missing file."""
    names: Iterable[object] = error.templates if isinstance(error, TemplatesNotFound) else (error.name,)
    shown = in_code(names, " or ")
    if any(".." in str(name).split("/") for name in names):
        return f"{shown} leads out of the template's folder: Jinja refuses `..` in names."
    return (
        f"There is no file {shown} in {loader.folder}. Names are looked up from the folder of the template "
        "that is rendered, also those in included files."
    )


def _syntax_failure(
    error: TemplateSyntaxError, environment: Environment, path: str | None
) -> PromptPoetError:
    """Return the failure for a text that Jinja cannot compile."""
    message = error.message or "The template is not valid Jinja."
    if hint := _hint(message, environment):
        message = f"{message} {hint}"
    elif not message.endswith("."):
        message = f"{message}: fix the tag on this line."
    return PromptPoetError("load", message, cause=type(error).__name__, path=path, line=error.lineno - 1)


def _hint(message: str, environment: Environment) -> str:
    """Return the hint for an unknown filter or test, or an empty text."""
    found = _UNKNOWN_NAME.search(message)
    if not found:
        return ""
    known = environment.filters if found[1] == "filter" else environment.tests
    near = nearest(found[2], known)
    return f"Did you mean `{near}`?" if near else f"Prompt Poet has Jinja's own {found[1]}s only."


def _place(error: BaseException, files: set[str]) -> tuple[str | None, int | None]:
    """Return the file and 0-based line of the innermost template frame of `error`, if any."""
    place: tuple[str | None, int | None] = (None, None)
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename in files and frame.f_code not in internal_code:
            # Jinja rewrites the frames of its templates to the template's lines, unless the environment
            # prevents that.
            template = frame.f_globals.get("__jinja_template__")
            line_number = line if template is None else template.get_corresponding_lineno(line)
            place = (frame.f_code.co_filename, line_number - 1)
    return place
