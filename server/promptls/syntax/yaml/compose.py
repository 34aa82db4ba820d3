"""Parse a projection with libyaml: a tree, or the first error as a problem with its position."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

import yaml

from promptls.syntax.chunk import Chunk
from promptls.syntax.problem import ProblemKind, SyntaxProblem
from promptls.syntax.projection import Projection
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence
from promptls.text.positions import Span, leading_spaces, line_end, line_start

REFUSED_ESCAPE: Final = "found invalid Unicode character escape code"
"""The message of libyaml for a surrogate."""
_ESCAPE: Final = re.compile(r"\\(?:u([dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)
_HIGH, _LOW, _END = 0xE000, 0xE400, 0xE800
_PAIR: Final = re.compile(f"[{chr(_HIGH)}-{chr(_LOW - 1)}][{chr(_LOW)}-{chr(_END - 1)}]")


def is_json(text: str) -> bool:
    """Return whether the text begins like JSON with more than one value."""
    return text.lstrip()[:1] in {"{", "["}


def readable_json(text: str) -> str:
    """Return the text with surrogates replaced by characters that YAML accepts; its length is unchanged."""
    return _ESCAPE.sub(_whole_escape, text)


def _whole_escape(match: re.Match[str]) -> str:
    return f"\\u{int(match[1], 16) - 0xD800 + _HIGH:04x}" if match[1] else match[0]


def _join_surrogates(node: yaml.Node | None) -> None:
    """Combine the surrogates in the scalars below `node`."""
    if isinstance(node, yaml.ScalarNode):
        node.value = _PAIR.sub(_character, node.value)
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            for each in pair:
                _join_surrogates(each)
    elif isinstance(node, yaml.SequenceNode):
        for each in node.value:
            _join_surrogates(each)


def _character(match: re.Match[str]) -> str:
    high, low = map(ord, match[0])
    return chr(0x10000 + ((high - _HIGH) << 10) + low - _LOW)


_BEGINS: Final = re.compile(r"(?:(?:^|[\r\n])[ \t]*|[:,\-?][ \t]+|[\[{][ \t]*)\Z")
"""The text before a quote that opens a value."""
_MAX: Final = 10_000
"""How many characters before an error the quote is searched."""
_MAX_INDENT: Final = 200
"""How many blanks may precede a quote."""


_QUOTED_KEY: Final = re.compile(r"\n[ ]*(?:-[ ]+)?[A-Za-z_][\w-]*:(?=[ \r\n])")
"""A line with a key, which a quoted text seldom has."""


def _quote_opened_above(text: str, offset: int) -> int | None:
    """Return the offset of the quote that was left open on a line above an error at `offset`.

    None if there is none. The quote directly before the error was meant to open a value or belongs to a
    text, and closed that quote instead.
    """
    start = max(offset - _MAX, 0)
    closing = len(text[start:offset].rstrip(" \t")) + start - 1
    quote = text[closing : closing + 1] if closing >= start else ""
    if quote not in {'"', "'"}:
        return None
    opening = text.rfind(quote, start, closing)
    while quote == '"' and opening > start and text[opening - 1] == "\\":
        opening = text.rfind(quote, start, opening)
    if opening < 0 or "\n" not in text[opening:closing] or not _is_opening(text, opening):
        return None
    return opening if _is_opening(text, closing) or _QUOTED_KEY.search(text, opening, closing) else None


def _is_opening(text: str, place: int) -> bool:
    """Return whether a quote is at the beginning of a value."""
    return _BEGINS.search(text, max(place - _MAX_INDENT, 0), place) is not None


MAX_DEPTH: Final = 100
"""The maximum nesting depth; libyaml crashes the process at about 30,000 levels."""
_MAX_NODES: Final = 1_000_000
"""The maximum number of nodes with aliases expanded: a few lines can expand to billions."""
_NESTING: Final = re.compile(rf"(?:[-?:][ \t]+){{{MAX_DEPTH}}}")
_DASHED: Final = re.compile(r"-[A-Za-z_]\w*[ ]*:(?=[ \r\n]|\Z)")
"""A key directly after the dash of an intended list item."""
_SPACELESS: Final = re.compile(r"[ ]*(?:-[ ]+)?([A-Za-z_][\w-]*):(?=[^\s:/])[^:\r\n]*$", re.MULTILINE)
"""A key whose colon lacks the following space, so that the line is a plain scalar."""
_ALIAS: Final = re.compile(r"\*(\S+)")
_MAX_BEHIND_BRACKET: Final = 10_000
"""How many characters after its bracket an error of a flow list or mapping is searched."""
_PLAIN_LINE: Final = re.compile(r"^(?!-)[^\s#].*", re.MULTILINE)
"""Text that begins in the first column and is neither a comment nor a list item."""
_AT_CONTEXT: Final = (
    "could not find expected ':'",
    "found unexpected end of stream",
    "found unexpected document indicator",
    "did not find expected alphabetic or numeric character",
)
_PLAIN_WORDS: Final[dict[str, tuple[str, ProblemKind]]] = {
    "did not find expected alphabetic or numeric character": (
        "a value cannot begin with `*` or `&` unless a name is meant; quote the value",
        "unquoted-value",
    ),
    "could not find expected ':'": (
        "expected `:` after this key; text of a block scalar must be indented more than its key",
        "",
    ),
    "mapping values are not allowed in this context": (
        "`: ` is not allowed here; quote the value, or check the indentation",
        "unquoted-value",
    ),
    "did not find expected key": ("expected a key here; check the indentation and the quotes", ""),
    "did not find expected node content": ("expected a value here, or the bracket that closes the list", ""),
    "did not find expected comment or line break": (
        "nothing is allowed here: the text of a block begins on the line below its `|` or `>`",
        "text-after-mark",
    ),
    "did not find expected '-' indicator": (
        "expected `- ` as for the items above; check the indentation",
        "",
    ),
    "found unknown escape character": (
        "in double quotes, a backslash begins an escape: write two of them, or use single quotes",
        "",
    ),
    "found unexpected end of stream": ("a quoted value that is not closed", "unclosed-quote"),
    "found unexpected document indicator": ("a quoted value that is not closed", "unclosed-quote"),
    "found character that cannot start any token": (
        "this character cannot begin a value; quote the value",
        "unquoted-value",
    ),
    "but found another document": ("a second document begins here; a prompt is one document", ""),
    "did not find expected <document start>": ("this is not allowed here; quote it, or remove it", ""),
    "did not find expected ',' or ']'": ("expected `,` or `]`", ""),
    "did not find expected ',' or '}'": ("expected `,` or `}`", ""),
}
"""Messages for those of libyaml, and the kinds of the errors."""


@dataclass(frozen=True, slots=True)
class YamlError:
    """An error of libyaml; offsets count in the text that was parsed.

    `is_at_end` is True if it was found at the end of the text, so that more text could correct it.
    """

    offset: int
    message: str
    kind: ProblemKind = ""
    alias: str = ""
    is_at_end: bool = False


@dataclass(frozen=True, slots=True)
class Composed:
    """The tree of a text, or the error that stopped parsing; neither for an empty text.

    `has_aliases` is True if some of its nodes occur in it twice.
    """

    root: Node | None
    error: YamlError | None
    has_aliases: bool = False


def compose(text: str, span: Callable[[int, int], Span], is_dynamic: Callable[[Span], bool]) -> Composed:
    """Return the tree of `text`; `span` maps its spans, `is_dynamic` decides which scalars are dynamic."""
    if _NESTING.search(text) or _nests_too_deep(text):
        return Composed(None, YamlError(0, f"nested more than {MAX_DEPTH} levels deep"))
    marks = len(text) - len(text.lstrip("\ufeff"))
    if marks:
        # libyaml does not count a byte order mark as a character.
        composed = compose(text[marks:], lambda start, end: span(start + marks, end + marks), is_dynamic)
        if composed.error is None:
            return composed
        return Composed(None, replace(composed.error, offset=composed.error.offset + marks))
    try:
        node = _compose(text)
        if node is not None and _may_be_large(text) and _size(node, {}) > _MAX_NODES:
            return Composed(None, YamlError(0, "the aliases repeat more text than can be read"))
        if node is None:
            return Composed(None, None)
        conversion = _Conversion(span, is_dynamic)
        return Composed(conversion.convert(node), None, conversion.has_aliases)
    except yaml.MarkedYAMLError as error:
        return Composed(None, _place(error, text))
    except yaml.reader.ReaderError as error:
        code = ord(error.character) if isinstance(error.character, str) else error.character
        position = max(text.find(chr(code)), 0)
        return Composed(None, YamlError(position, f"the character U+{code:04X} is not allowed in YAML"))
    except (RecursionError, UnicodeEncodeError, ValueError) as error:
        return Composed(None, YamlError(0, f"not readable as YAML: {error}"))


def is_one_entry(text: str) -> bool:
    """Return whether a text is a valid mapping with one entry."""
    root = compose(text, Span, lambda _span: False).root
    return isinstance(root, Mapping) and len(root.entries) == 1


def _compose(text: str) -> yaml.Node | None:
    """Return the tree of libyaml, also for JSON with characters escaped as surrogate pairs."""
    try:
        return yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        if error.problem != REFUSED_ESCAPE or not is_json(text):
            raise
    node = yaml.compose(readable_json(text), Loader=yaml.CSafeLoader)
    _join_surrogates(node)
    return node


def _may_be_large(text: str) -> bool:
    """Return whether there may be too many nodes, judging by aliases and the length of the text."""
    return "*" in text or len(text) >= _MAX_NODES // 2


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Return the number of nodes with all aliases expanded; one inside itself counts once."""
    if id(node) not in known:
        known[id(node)] = 1
        inside = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = (part for item in inside for part in (item if isinstance(item, tuple) else (item,)))
        known[id(node)] = 1 + sum(_size(part, known) for part in parts)
    return known[id(node)]


def _nests_too_deep(text: str) -> bool:
    """Return whether brackets are nested too deep to be parsed."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    steps = (1 if match.group() in "[{" else -1 for match in re.finditer(r"[\[{\]}]", text))
    return max(accumulate(steps)) > MAX_DEPTH


def _place(error: yaml.MarkedYAMLError, text: str) -> YamlError:
    """Return the error with the position at which it is reported."""
    is_at_end = error.problem_mark is None or error.problem_mark.index >= len(text.rstrip())
    return replace(_locate(error, text), is_at_end=is_at_end)


def _locate(error: yaml.MarkedYAMLError, text: str) -> YamlError:
    problem = error.problem or "not valid YAML"
    mark = error.problem_mark or error.context_mark
    if error.context_mark and problem in _AT_CONTEXT:
        mark = error.context_mark
    offset = min(mark.index, len(text)) if mark else 0
    if (error.context or "").startswith("while parsing a flow"):
        offset = _bracket_above(text, offset)
    elif "<document start>" in problem:
        offset = _value_above(text, offset)
    alias = ""
    if "undefined alias" in problem and (match := _ALIAS.match(text, offset)):
        alias = match.group(1)
    message, kind = _PLAIN_WORDS.get(problem, (problem, ""))
    if "<document start>" in problem and text.startswith("%", offset):
        message = "a directive needs a line with `---` after it"
    opened = _quote_opened_above(text, mark.index) if mark else None
    if opened is not None:
        return YamlError(opened, *_PLAIN_WORDS["found unexpected end of stream"])
    line = _line_at(text, offset)
    block = _block_above(text, line)
    if block is not None:
        message = "a text of several lines needs a `|` after this colon"
        return YamlError(block, message, "missing-mark")
    deeper = _deeper_above(text, line)
    if deeper is not None:
        return YamlError(deeper, "the first line of a text is indented no more than the lines below it")
    return _explained(text, line, problem, YamlError(offset, message, kind, alias))


def _explained(text: str, line: int, problem: str, error: YamlError) -> YamlError:
    """Return an error as what is on its line, or above, explains it."""
    offset = error.offset
    after = _WHOLE_VALUE.match(text, line)
    if after is not None and offset == after.start("after"):
        message = "nothing is allowed after a value in brackets or quotes; quote the whole value"
        error = replace(error, message=message, kind="text-after-value")
    if _DASHED.match(text, line):
        message = "expected a space after this dash, which begins a list item"
        return replace(error, offset=line, message=message, kind="missing-space")
    if problem.startswith("mapping values") and (above := _spaceless_above(text, line)) is not None:
        return replace(error, offset=above, message="expected a space after this colon", kind="")
    if "tab" in problem or text[offset : offset + 1] == "\t":
        return replace(error, message="a tab cannot indent YAML; use spaces", kind="tab")
    if _OTHER_SPACE.match(text, offset):
        message = f"U+{ord(text[offset]):04X} cannot indent YAML; use spaces"
        return replace(error, message=message, kind="")
    return error


_OTHER_SPACE: Final = re.compile(r"[^\S \t\r\n]|[\u200b\u2060\ufeff]")
_OPEN_KEY: Final = re.compile(r"([ ]*)(?:-[ ]+)?(content|instruction)[ ]*:[ ]*$")
_TEXT_LINE: Final = re.compile(r"[ ]*(?![-#&*!|>'\"\[{@`%])(?![\w-]+[ ]*:(?:[ ]|$))\S")
"""A line that is plain text: it begins no list, no key and no quoted value."""


_WHOLE_VALUE: Final = re.compile(
    r"[ ]*(?:-[ ]+)?\w+:[ ]+(?:\[[^\[\]\n]*\]|\"[^\"\n]*\"|'[^'\n]*')[ ]*(?P<after>[^\s#,])"
)
_BLOCK_MARK: Final = re.compile(r"([ ]*)(?:-[ ]+)?\w+:[ ]+[|>][-+]?[ ]*$")


def _deeper_above(text: str, line: int) -> int | None:
    """Return the offset of the first line of a block if those below it, from `line`, are indented less."""
    key, first = ["", "", *text[:line].rsplit("\n", 3)[-3:-1]][-2:]
    here, *after = text[line:].split("\n", 4)[:4]
    below = next((each for each in after if each.strip()), "")
    mark = _BLOCK_MARK.match(key)
    depth, deeper, next_depth = (leading_spaces(each) for each in (here, first, below))
    if mark is None or not len(mark[1]) < depth < deeper or not depth == next_depth < len(below):
        return None
    return None if re.match(r"[ ]*\w+:[ ]", here) else line - len(first) - 1 + deeper


def _block_above(text: str, line: int) -> int | None:
    """Return the offset of the key whose text on the lines below it lacks a `|`; None if there is none.

    `line` is the start of the line with the error, which must be one of them.
    """
    lines = text[max(line - _MAX, 0) : line].split("\n")[:-1]
    here = text[line:].partition("\n")[0]
    depth = leading_spaces(here)
    offset, first = line, here
    for above in reversed(lines):
        offset -= len(above) + 1
        key = _OPEN_KEY.match(above)
        if key is not None:
            return offset + key.start(2) if depth > len(key[1]) and _TEXT_LINE.match(first) else None
        if above.strip():
            first = above
            depth = min(depth, leading_spaces(above))
            if not depth:
                return None
    return None


def _bracket_above(text: str, offset: int) -> int:
    """Return the offset of the bracket that is open at `offset`, if it is on a line above; else `offset`.

    The lines after it are not wrong themselves: the bracket is not closed.
    """
    depth = 0
    for place in range(offset - 1, max(offset - _MAX_BEHIND_BRACKET, 0) - 1, -1):
        if text[place] in "]}":
            depth += 1
        elif text[place] in "[{" and depth:
            depth -= 1
        elif text[place] in "[{":
            return place if "\n" in text[place:offset] else offset
    return offset


def _value_above(text: str, offset: int) -> int:
    """Return the start of the last line before `offset` that is not an item; `offset` if there is none."""
    starts = [match.start() for match in _PLAIN_LINE.finditer(text, 0, offset)]
    return starts[-1] if starts else offset


def _line_at(text: str, offset: int) -> int:
    """Return the start of the wrong line: the one at `offset`, or one above it with a broken dash."""
    start = text.rfind("\n", 0, offset) + 1
    above = text.rfind("\n", 0, max(start - 1, 0)) + 1
    return above if _DASHED.match(text, above) else start


def _spaceless_above(text: str, line: int) -> int | None:
    """Return the start of the key in the line above if its colon lacks the following space; else None."""
    above = text.rfind("\n", 0, max(line - 1, 0)) + 1
    match = _SPACELESS.match(text, above, max(line - 1, 0)) if above < line else None
    return match.start(1) if match else None


class _Conversion:
    """Converts nodes of libyaml to ours; an alias becomes the anchor's node."""

    def __init__(self, span: Callable[[int, int], Span], is_dynamic: Callable[[Span], bool]) -> None:
        self._span = span
        self._is_dynamic = is_dynamic
        self._known: dict[int, Node] = {}
        self._depth = 0
        self.has_aliases = False

    def convert(self, node: yaml.Node) -> Node:
        """Return the node with all its children."""
        known = self._known
        if id(node) in known:
            self.has_aliases = True
            return known[id(node)]
        placed = self._span(node.start_mark.index, node.end_mark.index)
        made: Node
        if isinstance(node, yaml.ScalarNode):
            tag = node.tag.rsplit(":", 1)[-1]
            made = Scalar(placed, node.value, node.style or "", tag, self._is_dynamic(placed))
            known[id(node)] = made
            return made
        known[id(node)] = Scalar(placed, "", "", "null", dynamic=False)  # the value of a node inside itself
        self._depth += 1
        if self._depth > MAX_DEPTH:  # by indentation, which `_nests_too_deep` does not check
            raise RecursionError(f"nested more than {MAX_DEPTH} levels deep")
        if isinstance(node, yaml.MappingNode):
            entries = [Entry(self.convert(key), self.convert(value)) for key, value in node.value]
            made = Mapping(placed, tuple(entries))
        elif isinstance(node, yaml.SequenceNode):
            made = Sequence(placed, tuple([self.convert(item) for item in node.value]))
        else:
            made = known[id(node)]
        self._depth -= 1
        known[id(node)] = made
        return made


def yaml_problem(chunk: Chunk, projection: Projection, error: YamlError) -> tuple[SyntaxProblem, ...]:
    """Return the error of a chunk's projection, at its position in the chunk.

    Empty if a printed value may correct it.
    """
    if _is_unsure(chunk, projection, error):
        return ()
    origin = projection.origin(error.offset)
    end = line_end(chunk.text, origin)
    end = origin + len(chunk.text[origin:end].rstrip())
    if end <= origin:
        origin, end = _text_before(chunk.text, origin)
    return (SyntaxProblem("yaml", Span(origin, end), error.message, kind=error.kind),)


def _text_before(text: str, offset: int) -> tuple[int, int]:
    """Return the last line with text at or before `offset`, for errors that libyaml reports after the end."""
    end = len(text[:offset].rstrip())
    begin = line_start(text, end)
    begin += len(text[begin:end]) - len(text[begin:end].lstrip())
    return begin, max(end, begin + 1)


def _is_unsure(chunk: Chunk, projection: Projection, error: YamlError) -> bool:
    """Return whether a printed value on the error's line could correct it, such as with a quote."""
    line_start = projection.text.rfind("\n", 0, error.offset) + 1
    origin = projection.origin(line_start)
    end = projection.origin(error.offset)
    for tag in chunk.tags:
        if tag.kind != "output" or not origin <= tag.span.start <= end:
            continue
        before = chunk.text[origin : tag.span.start].strip()
        is_key = end == tag.span.end and before.endswith(":") and not {'"', "'"} & set(tag.text)
        if is_key and chunk.text.startswith(": ", end):
            continue  # no value is text in front of a colon
        if before in {"", "-"} or before.endswith((":", "- ")):
            return True
    return False
