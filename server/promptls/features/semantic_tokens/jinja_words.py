"""The semantic tokens inside Jinja tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.features.semantic_tokens.legend import (
    DECLARATION,
    DEFAULT_LIBRARY,
    MODIFICATION,
    SemanticToken,
)
from promptls.meaning.scopes import GLOBALS, INJECTED, Reading
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Expression,
    Filter,
    Keyword,
    Name,
    Statement,
    Test,
    walk,
)
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.jinja.tokens import Token, tokenize
from promptls.text.span import Span

_OPERATOR_WORDS: Final = frozenset({"and", "or", "not", "in", "is"})
_CONSTANTS: Final = frozenset({"true", "false", "none", "True", "False", "None"})
_PUNCTUATION: Final = frozenset("()[]{},.:;")
_BINDING_TYPES: Final = {"macro": "function", "parameter": "parameter"}

Meant = dict[int, tuple[str, int]]
"""The type and modifiers of the words of a chunk, by their offsets."""


def jinja_tokens(chunk: Chunk, readings: list[Reading]) -> Iterator[SemanticToken]:
    """The tokens of the chunk's tags; spans of its readings count from its start."""
    meant: Meant = {reading.span.start: reading_type(reading) for reading in readings}
    for tag in chunk.tags:
        if tag.kind == "comment":
            yield SemanticToken(tag.span.start, tag.span.end, "comment")
        elif tag.kind == "raw":
            yield from _raw(tag)
        else:
            yield from _tag(tag, meant)


def reading_type(reading: Reading) -> tuple[str, int]:
    """The type and modifiers of a variable that is read."""
    called = reading.how == "call"
    if reading.binding is None:
        if reading.name in GLOBALS or reading.name in INJECTED:
            return "function" if called else "variable", DEFAULT_LIBRARY
        return ("function" if called else "input"), 0
    kind = reading.binding.kind
    if kind == "import":
        return {"call": "function", "attribute": "namespace"}.get(reading.how, "variable"), 0
    if kind == "implied":
        return "function" if called else "variable", DEFAULT_LIBRARY
    return _BINDING_TYPES.get(kind, "variable"), 0


def _raw(tag: Tag) -> Iterator[SemanticToken]:
    start = tag.span.start
    yield SemanticToken(start, start + 2, "tagDelimiter")
    begin = tag.text.index("raw")
    yield SemanticToken(start + begin, start + begin + len("raw"), "keyword")
    behind = start + tag.inner_end
    yield SemanticToken(behind, behind + 2, "tagDelimiter")
    if tag.unclosed:
        return
    if tag.body.end > tag.body.start:
        yield SemanticToken(tag.body.start, tag.body.end, "promptText")
    closing = tag.text.rindex("{%")
    yield SemanticToken(start + closing, start + closing + 2, "tagDelimiter")
    word = tag.text.rindex("endraw")
    yield SemanticToken(start + word, start + word + len("endraw"), "keyword")
    yield SemanticToken(tag.span.end - 2, tag.span.end, "tagDelimiter")


def _tag(tag: Tag, meant: Meant) -> Iterator[SemanticToken]:
    base = tag.span.start
    delimiter = "outputDelimiter" if tag.kind == "output" else "tagDelimiter"
    yield SemanticToken(base, base + tag.inner_start, delimiter)
    statement = tag_tree(tag).statement
    words: dict[int, tuple[str, int]] = {}
    for start, word in _words(statement):
        words.setdefault(start, word)
    for token in tokenize(tag.text, tag.inner_start, tag.inner_end):
        found = words.get(token.start) or meant.get(base + token.start) or _plain(token)
        if found is not None and token.text:
            yield SemanticToken(base + token.start, base + token.end, *found)
    if not tag.unclosed and tag.inner_end < len(tag.text):
        yield SemanticToken(base + tag.inner_end, tag.span.end, delimiter)


def _plain(token: Token) -> tuple[str, int] | None:
    """The type of a token by itself."""
    if token.kind == "name":
        if token.text in _OPERATOR_WORDS:
            return "operator", 0
        return ("constant" if token.text in _CONSTANTS else "keyword"), 0
    if token.kind == "string":
        return "string", 0
    if token.kind in {"integer", "float"}:
        return "number", 0
    return ("operator", 0) if token.kind == "operator" and token.text not in _PUNCTUATION else None


def _words(statement: Statement) -> Iterator[tuple[int, tuple[str, int]]]:
    """The words of a tag that the tree tells more of than their token: names, attributes, filters."""
    if statement.keyword != "output":
        yield statement.keyword_span.start, ("keyword", 0)
    if statement.name:
        declares = DECLARATION if statement.keyword != "endblock" else 0
        kind = {"macro": "function", "import": "namespace"}.get(statement.keyword, "block")
        yield statement.name_span.start, (kind, declares)
    for parameter in statement.parameters:
        yield parameter.span.start, ("parameter", DECLARATION)
    for imported in statement.imported:
        yield imported.span.start, ("function", 0)
        yield imported.alias_span.start, ("function", DECLARATION)
    for target in statement.targets:
        for node in walk(target):
            if isinstance(node, Name):
                yield node.span.start, ("variable", MODIFICATION)
            elif isinstance(node, Attribute):
                yield node.name_span.start, ("property", MODIFICATION)
                break
    tests = () if statement.loop_test is None else (statement.loop_test,)
    for expression in (*statement.expressions, *tests):
        for node in walk(expression):
            yield from _node(node)


def _node(node: Expression) -> Iterator[tuple[int, tuple[str, int]]]:
    if isinstance(node, Call) and isinstance(node.function, Attribute):
        yield node.function.name_span.start, ("method", 0)
    elif isinstance(node, Attribute) and node.name:
        yield node.name_span.start, ("property", 0)
    elif isinstance(node, Filter):
        yield from _dotted(node.name_span, node.name, "filter")
    elif isinstance(node, Test):
        yield from _dotted(node.name_span, node.name, "test")
    elif isinstance(node, Keyword) and not node.name.startswith("*"):
        yield node.span.start, ("parameter", 0)


def _dotted(span: Span, name: str, kind: str) -> Iterator[tuple[int, tuple[str, int]]]:
    start = span.start
    for part in name.split("."):
        yield start, (kind, 0)
        start += len(part) + 1
