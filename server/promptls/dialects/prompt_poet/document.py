"""Loading of the data in a rendered text like Prompt Poet: as YAML 1.1, with libyaml."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import yaml

from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.text.format import shorten, shorten_text

MAX_DEPTH = 500
"""The maximum nesting depth; libyaml's composer crashes the process at about 30,000 levels."""

VALUES_HINT = (
    "If a value brings line breaks, quotes or `: ` into the text, put it in a `|` block and through "
    "`escape_special_characters(…)`."
)
"""The remedy if it is unknown whether a value is responsible."""

REMEDIES = {
    "found another document": "A prompt is one document: take out the `---`.",
    "constructor for the tag": "Take out the tag, or put a text that begins with `!` in quotes.",
    "undefined alias": "Put a text that begins with `*` in quotes.",
    "cannot start any token": "Put a text that begins with `@`, a backtick, `%` or a tab in quotes.",
    "tab character": "Indent with spaces.",
    "could not find expected ':'": "Indent the line as deep as the text that it belongs to.",
    "mapping values": "Indent the line as those around it, or put a text that holds `: ` in quotes.",
}
"""The remedies, by libyaml's message, if the template's own text is responsible."""
OTHER_REMEDY = "Look at the quotes, the brackets and the indentation there."

LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Line breaks in YAML 1.1, and thus in libyaml's line numbers."""

_BLOCK_OPENERS = re.compile(r"^[ \-?:]*", re.MULTILINE)
"""Indicators that may open block collections at the start of a line."""

EXCERPT_WIDTH = 160
"""The number of characters of a line in an excerpt."""

CONTEXT_LINES = 2
"""The number of lines in an excerpt before and after the line in question."""


class Document(NamedTuple):
    """The loaded rendered text: its data, and the YAML node with their positions."""

    data: Any
    root: yaml.Node | None


def load(text: str) -> Any:
    """Return the data in the rendered `text`; raises PromptPoetError of kind `yaml` with the location."""
    return read(text).data


def read(text: str) -> Document:
    """Load like `load`, and also return the node of the data, which includes keys merged by `<<`."""
    _refuse_deep_nesting(text)
    try:
        loader = yaml.CSafeLoader(text)
        try:
            root = loader.get_single_node()
            return Document(None if root is None else loader.construct_document(root), root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line, column = _marked(error)
        what = ", ".join(each for each in (error.context, error.problem) if each)
        raise _failure(text, error, what, line, column) from error
    except yaml.reader.ReaderError as error:
        raise _unreadable(text, error, f"{_code_point(error.character)} is not allowed in YAML") from error
    except UnicodeEncodeError as error:
        what = f"the lone surrogate U+{ord(text[error.start]):04X} is not a character"
        raise _failure(text, error, what, *_place(text, error.start)) from error
    except Exception as error:
        raise _misread(text, error) from error


class ItemPlace(NamedTuple):
    """A 0-based line and column of a rendered text."""

    line: int
    column: int


def place_of_item(text: str, index: int, key: Any) -> ItemPlace | None:
    """Return the position of item `index` of the top-level list, or of its `key` if it has that."""
    node = yaml.compose(text, Loader=yaml.CSafeLoader)
    if not isinstance(node, yaml.SequenceNode) or index >= len(node.value):
        return None
    item = node.value[index]
    for name, _ in item.value if key is not None and isinstance(item, yaml.MappingNode) else ():
        if name.value == key:
            return ItemPlace(name.start_mark.line, name.start_mark.column)
    return ItemPlace(item.start_mark.line, item.start_mark.column)


def first_line(text: str) -> int | None:
    """Return the 0-based line of the first character that is not white space."""
    found = re.search(r"\S", text)
    return _place(text, found.start())[0] if found else None


def excerpt(text: str, line: int) -> str:
    """Return the rendered lines around the 0-based `line`, numbered from 1, with a mark at it."""
    lines = LINE_BREAK.split(text)
    first, last = max(0, line - CONTEXT_LINES), min(len(lines), line + CONTEXT_LINES + 1)
    return "\n".join(
        f"{'>' if index == line else ' '} {index + 1:>4} | {shorten_text(lines[index], EXCERPT_WIDTH)}"
        for index in range(first, last)
    )


def _refuse_deep_nesting(text: str) -> None:
    """Raise PromptPoetError if `text` is nested more deeply than MAX_DEPTH."""
    openers = max((len(match[0]) for match in _BLOCK_OPENERS.finditer(text)), default=0)
    # A level of nesting requires at least one such character, or a flow opener; a list may have the
    # indentation of its key, so that two levels share a column.
    if text.count("[") + text.count("{") + 2 * openers + 2 <= MAX_DEPTH:
        return
    depth = 0
    try:
        # The event parser has its own stack, and supports any depth.
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise _too_deep(text, event.start_mark)
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.MarkedYAMLError as error:
        # The scanner of newer releases of libyaml reads ahead, and has its own limit above MAX_DEPTH.
        if "nesting depth" in (error.problem or ""):
            raise _too_deep(text, error.problem_mark) from error
    except (yaml.YAMLError, UnicodeEncodeError):
        # The loader encounters this error before the deep nesting, and reports it with its location.
        return


def _too_deep(text: str, mark: Any) -> PromptPoetError:
    """Return the failure for a collection at `mark` that is nested too deeply."""
    line, column = (mark.line, mark.column) if mark else (None, None)
    what = f"collections are nested more than {MAX_DEPTH} deep"
    return _failure(text, RecursionError(), what, line, column)


def _marked(error: yaml.MarkedYAMLError) -> tuple[int | None, int | None]:
    """Return the 0-based line and column in `error`; of an unclosed quote, where it opens."""
    mark = error.problem_mark or error.context_mark
    if error.problem == "found unexpected end of stream":
        mark = error.context_mark or mark
    return (mark.line, mark.column) if mark else (None, None)


def _misread(text: str, error: Exception) -> PromptPoetError:
    """Return the failure for an invalid value that looks like a date or a number, such as `2024-02-31`."""
    constructor = yaml.constructor.SafeConstructor()
    waiting = [yaml.compose(text, Loader=yaml.CSafeLoader)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.ScalarNode):
            try:
                constructor.construct_object(node)
            except Exception:  # noqa: BLE001 - any exception identifies the value
                message = f"{shorten(node.value)} cannot be read as what it looks like ({error})"
                mark = node.start_mark
                return _failure(text, error, message, mark.line, mark.column, "Put it in quotes.")
        elif isinstance(node, yaml.SequenceNode):
            waiting += reversed(node.value)
        elif isinstance(node, yaml.MappingNode):
            waiting += [each for pair in reversed(node.value) for each in reversed(pair)]
    return _failure(text, error, str(error), None, None)


def _unreadable(text: str, error: yaml.reader.ReaderError, what: str) -> PromptPoetError:
    """Return the failure for a character that YAML forbids."""
    # libyaml reports an offset in UTF-8 bytes, from which the start of the character is found.
    offset = len(text.encode("utf-8", "surrogatepass")[: error.position].decode("utf-8", "ignore"))
    return _failure(text, error, what, *_place(text, offset))


def _code_point(character: int | str | bytes) -> str:
    """Return a readable name of a forbidden character."""
    code_point = character if isinstance(character, int) else ord(character)
    return f"the control character U+{code_point:04X}"


def _place(text: str, offset: int) -> tuple[int, int]:
    """Return the 0-based line and column of `offset`."""
    line, start = 0, 0
    for match in LINE_BREAK.finditer(text, 0, offset):
        line, start = line + 1, match.end()
    return line, offset - start


def _failure(
    text: str,
    error: Exception,
    what: str,
    line: int | None,
    column: int | None,
    remedy: str = VALUES_HINT,
) -> PromptPoetError:
    place = f" at line {line + 1} of it" if line is not None else ""
    return PromptPoetError(
        "yaml",
        f"The rendered text is not valid YAML{place}: {what}. {remedy}",
        cause=type(error).__name__,
        rendered_line=line,
        rendered_column=column,
        excerpt=None if line is None else excerpt(text, line),
    )
