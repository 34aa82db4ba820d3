"""The semantic tokens of a file, cached with its chunks, and their encoding in the protocol."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.ide.semantic_token_legend import (
    DECLARATION,
    DEFAULT_LIBRARY,
    MODIFICATION,
    NUMBER,
    SemanticToken,
)
from promptls.semantic.header import CLOSING, OPENING, Declarations
from promptls.semantic.kind import Kind
from promptls.semantic.names.file_names import FileNames, Zone, outline, pass_outline
from promptls.semantic.names.scopes import GLOBALS, INJECTED, NameEvent, NameReference, Resolver
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja import nodes
from promptls.syntax.jinja.expressions import CONSTANTS
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.jinja.tag_tokens import Token, tokenize
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, key_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import PositionEncoding, Span, line_end, units_from_column
from promptls.text.steps import Steps
from promptls.workspace.snapshot import Snapshot

_OPERATOR_WORDS: Final = frozenset({"and", "or", "not", "in", "is"})
_PUNCTUATION: Final = frozenset("()[]{},.:;")
_BINDING_TYPES: Final = {"macro": "function", "parameter": "parameter"}

Meant = dict[int, tuple[str, int]]
"""The type and modifiers of names in a chunk, by offset."""


def jinja_tokens(chunk: Chunk, references: list[NameReference]) -> Iterator[SemanticToken]:
    """Yield the tokens of the chunk's tags; spans of its references are relative to its start."""
    meanings: Meant = {reference.span.start: reference_type(reference) for reference in references}
    for tag in chunk.tags:
        if tag.kind == "comment":
            yield SemanticToken(tag.span.start, tag.span.end, "comment")
        elif tag.kind == "raw":
            yield from _raw(tag)
        else:
            yield from _tag(tag, meanings)


def reference_type(reference: NameReference) -> tuple[str, int]:
    """Return the type and modifiers of a variable that is read."""
    called = reference.how == "call"
    if reference.binding is None:
        if reference.name in GLOBALS or reference.name in INJECTED:
            return "function" if called else "variable", DEFAULT_LIBRARY
        return ("function" if called else "input"), 0
    kind = reference.binding.kind
    if kind == "import":
        return {"call": "function", "attribute": "namespace"}.get(reference.how, "variable"), 0
    if kind == "implied":
        return "function" if called else "variable", DEFAULT_LIBRARY
    return _BINDING_TYPES.get(kind, "variable"), 0


def _raw(tag: Tag) -> Iterator[SemanticToken]:
    start = tag.span.start
    yield SemanticToken(start, start + 2, "tagDelimiter")
    begin = tag.text.index("raw")
    yield SemanticToken(start + begin, start + begin + len("raw"), "keyword")
    after = start + tag.inner_end
    yield SemanticToken(after, after + 2, "tagDelimiter")
    if tag.unclosed:
        return
    if tag.body.end > tag.body.start:
        yield SemanticToken(tag.body.start, tag.body.end, "promptText")
    closing = tag.text.rindex("{%")
    yield SemanticToken(start + closing, start + closing + 2, "tagDelimiter")
    word = tag.text.rindex("endraw")
    yield SemanticToken(start + word, start + word + len("endraw"), "keyword")
    yield SemanticToken(tag.span.end - 2, tag.span.end, "tagDelimiter")


def _tag(tag: Tag, meanings: Meant) -> Iterator[SemanticToken]:
    base = tag.span.start
    delimiter = "outputDelimiter" if tag.kind == "output" else "tagDelimiter"
    yield SemanticToken(base, base + tag.inner_start, delimiter)
    statement = tag_tree(tag).statement
    names: dict[int, tuple[str, int]] = {}
    for start, word in _tree_types(statement):
        names.setdefault(start, word)
    for token in tokenize(tag.text, tag.inner_start, tag.inner_end):
        found = names.get(token.start) or meanings.get(base + token.start) or _plain(token)
        if found is not None and token.text:
            yield SemanticToken(base + token.start, base + token.end, *found)
    if not tag.unclosed and tag.inner_end < len(tag.text):
        yield SemanticToken(base + tag.inner_end, tag.span.end, delimiter)


def _plain(token: Token) -> tuple[str, int] | None:
    """Return the type of a token without its context."""
    if token.kind == "name":
        if token.text in _OPERATOR_WORDS:
            return "operator", 0
        return ("constant" if token.text in CONSTANTS else "keyword"), 0
    if token.kind == "string":
        return "string", 0
    if token.kind in {"integer", "float"}:
        return "number", 0
    return ("operator", 0) if token.kind == "operator" and token.text not in _PUNCTUATION else None


def _tree_types(statement: nodes.Statement) -> Iterator[tuple[int, tuple[str, int]]]:
    """Yield the types of a tag's names that depend on the syntax tree: names, attributes, filters."""
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
        for node in nodes.walk(target):
            if isinstance(node, nodes.Name):
                yield node.span.start, ("variable", MODIFICATION)
            elif isinstance(node, nodes.Attribute):
                yield node.name_span.start, ("property", MODIFICATION)
                break
    for expression in statement.read:
        for node in nodes.walk(expression):
            yield from _node(node)


def _node(node: nodes.Expression) -> Iterator[tuple[int, tuple[str, int]]]:
    if isinstance(node, nodes.Call) and isinstance(node.function, nodes.Attribute):
        yield node.function.name_span.start, ("method", 0)
    elif isinstance(node, nodes.Attribute) and node.name:
        yield node.name_span.start, ("property", 0)
    elif isinstance(node, nodes.Filter):
        yield from _dotted(node.name_span, node.name, "filter")
    elif isinstance(node, nodes.Test):
        yield from _dotted(node.name_span, node.name, "test")
    elif isinstance(node, nodes.Keyword) and not node.name.startswith("*"):
        yield node.span.start, ("parameter", 0)


def _dotted(span: Span, name: str, kind: str) -> Iterator[tuple[int, tuple[str, int]]]:
    start = span.start
    for part in name.split("."):
        yield start, (kind, 0)
        start += len(part) + 1


_BY_KEY: Final = {
    "name": "partName",
    "role": "role",
    "content": "promptText",
    "instruction": "promptText",
    "prompt": "promptText",
    "template": "promptText",
}
_BY_TAG: Final = {"int": "number", "float": "number", "bool": "constant", "null": "constant"}
_KEY_LINE: Final = re.compile(rf"^ *(?:- +)?({'|'.join(PART_KEYS)})(?= *:(?:\s|$))", re.MULTILINE)
_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t\n]))#[^\r\n]*")


def yaml_tokens(chunk: Chunk) -> Iterator[SemanticToken]:
    """Yield the tokens of the chunk's YAML; from the lines of its keys if it is invalid."""
    roots = chunk_yaml(chunk).roots
    if not roots:
        for match in _KEY_LINE.finditer(chunk.text):
            yield SemanticToken(*match.span(1), "key")
        return
    found: dict[int, SemanticToken] = {}
    for root in roots:
        for token in node_tokens(root, chunk.text):
            found.setdefault(token.start, token)
    yield from found.values()
    scalars = sorted(Span(token.start, token.end) for token in found.values())
    starts = [span.start for span in scalars]
    for match in _COMMENT.finditer(chunk.text):
        before = bisect_left(starts, match.start())
        if not before or scalars[before - 1].end <= match.start():
            yield SemanticToken(*match.span(), "comment")


def node_tokens(node: Node, text: str) -> Iterator[SemanticToken]:
    """Yield the tokens of a YAML node whose spans are in `text`."""
    stack: list[tuple[Node, str, bool]] = [(node, "", False)]
    seen: set[int] = set()
    while stack:
        current, name, is_key = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Scalar):
            if current.span.end > current.span.start:
                yield _scalar(current, text, name, is_key=is_key)
        elif isinstance(current, Sequence):
            stack.extend((item, name, False) for item in current.items)
        elif isinstance(current, Mapping):
            for entry in current.entries:
                stack.append((entry.key, name, True))
                stack.append((entry.value, key_text(entry) or "", False))


def _scalar(scalar: Scalar, text: str, key: str, *, is_key: bool) -> SemanticToken:
    start, end = scalar.span
    if scalar.style in {"|", ">"}:  # the rest of the indicator's line is not part of the text
        start = min(line_end(text, start), end)
    if is_key:
        return SemanticToken(start, end, "key")
    kind = _BY_KEY.get(key)
    if kind == "partName":
        return SemanticToken(start, end, kind, DECLARATION)
    if kind is None:
        kind = "string" if scalar.style else _BY_TAG.get(scalar.tag, "string")
    return SemanticToken(start, end, kind)


WIDTH: Final = 5
"""The number of integers that encode a token."""
_AROUND_TAGS: Final = frozenset({"promptText", "string", "key", "partName", "role", "comment"})
"""Types in YAML that may contain tags."""


class TokenRun(NamedTuple):
    """The encoded tokens of a piece of a file.

    The line of the first token is relative to the piece's first line, as is `last_line`, the line of the last
    token.
    """

    numbers: tuple[int, ...]
    last_line: int


EMPTY: Final = TokenRun((), 0)


def join_runs(parts: Iterable[tuple[int, TokenRun]]) -> TokenRun:
    """Return the run of a piece that consists of pieces, each with its first line."""
    numbers: list[int] = []
    last = 0
    for line, run in parts:
        if run.numbers:
            numbers.append(run.numbers[0] + line - last)
            numbers += run.numbers[1:]
            last = line + run.last_line
    return TokenRun(tuple(numbers), last)


def encode_tokens(chunk: Chunk, tokens: Iterable[SemanticToken], encoding: PositionEncoding) -> TokenRun:
    """Return the encoded tokens of a chunk; if tokens overlap, only the first one."""
    numbers: list[int] = []
    last_line = last_column = after = 0
    is_plain = encoding is PositionEncoding.UTF32 or chunk.text.isascii()
    for token in sorted(_on_lines(chunk, tokens)):
        if token.start < after:
            continue
        after = token.end
        line = bisect_right(chunk.line_starts, token.start) - 1
        begin = chunk.line_starts[line]
        column, length = token.start - begin, token.end - token.start
        if not is_plain:
            column = units_from_column(chunk.text[begin : token.start], column, encoding)
            length = units_from_column(chunk.text[token.start : token.end], length, encoding)
        delta = column - last_column if line == last_line else column
        numbers += (line - last_line, delta, length, NUMBER[token.type], token.modifiers)
        last_line, last_column = line, column
    return TokenRun(tuple(numbers), last_line)


def _on_lines(chunk: Chunk, tokens: Iterable[SemanticToken]) -> Iterator[SemanticToken]:
    """Yield the tokens split at line breaks, and around the tags inside them.

    This supports clients without multi-line or overlapping tokens.
    """
    for token in tokens:
        if token.type not in _AROUND_TAGS:
            yield token
            continue
        for span in _outside_tags(chunk, Span(token.start, token.end)):
            for piece in _lines(chunk, span):
                yield SemanticToken(piece.start, piece.end, token.type, token.modifiers)


def _outside_tags(chunk: Chunk, token: Span) -> Iterator[Span]:
    starts = _tag_starts(chunk)
    position = token.start
    first = max(bisect_right(starts, token.start) - 1, 0)
    for tag in chunk.tags[first : bisect_left(starts, token.end)]:
        if tag.span.start <= token.start and token.end <= tag.span.end:
            yield token  # it belongs to the tag itself
            return
        if tag.span.end > token.start:
            yield Span(position, max(tag.span.start, position))
            position = tag.span.end
    yield Span(position, max(token.end, position))


@chunk_fact
def _tag_starts(chunk: Chunk) -> list[int]:
    return [tag.span.start for tag in chunk.tags]


def _lines(chunk: Chunk, span: Span) -> Iterator[Span]:
    """Yield the lines of a span, without surrounding white space."""
    position = span.start
    while position < span.end:
        line = bisect_right(chunk.line_starts, position)
        end = chunk.line_starts[line] if line < len(chunk.line_starts) else len(chunk.text)
        text = chunk.text[position : min(end, span.end)]
        bare = text.strip(" \t\r\n")
        if bare:
            start = position + text.index(bare)
            yield Span(start, start + len(bare))
        position = end


class TokensEdit(NamedTuple):
    """An edit that replaces `deleted` integers from index `start` on with `numbers`."""

    start: int
    deleted: int
    numbers: tuple[int, ...]


def change(old: tuple[int, ...], new: tuple[int, ...]) -> TokensEdit | None:
    """Return the edit between the integers of two runs, without their common first and last tokens.

    None if they are the same.
    """
    if old == new:
        return None
    limit = min(len(old), len(new))
    start = _common_length(old, new, limit)
    end = _common_length(old[::-1], new[::-1], limit - start)
    return TokensEdit(start, len(old) - end - start, new[start : len(new) - end])


def _common_length(one: tuple[int, ...], other: tuple[int, ...], limit: int) -> int:
    """Return the number of integers, at most `limit`, of the whole tokens with which both begin."""
    low, high = 0, limit // WIDTH
    while low < high:  # long slices are compared much faster than each token
        middle = (low + high + 1) // 2
        between = slice(low * WIDTH, middle * WIDTH)
        if one[between] == other[between]:
            low = middle
        else:
            high = middle - 1
    return low * WIDTH


def file_run(snapshot: Snapshot, path: str, encoding: PositionEncoding) -> TokenRun:
    """Return the tokens of the file at `path`, with columns and lengths in `encoding`.

    Empty if the file is not a prompt.
    """
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return EMPTY
    return _TokenEncoder(template, encoding).of_file()


def file_run_steps(snapshot: Snapshot, path: str, encoding: PositionEncoding) -> Steps[TokenRun]:
    """Return the same as `file_run`; each chunk is a step."""
    template = snapshot.template(path)
    if template is not None and snapshot.kind(path) is not Kind.OTHER:
        for _ in _TokenEncoder(template, encoding).of_chunks(0, template.source.root.line_ends):
            yield
    return file_run(snapshot, path, encoding)


def run_of_lines(
    snapshot: Snapshot, path: str, encoding: PositionEncoding, first: int, last: int
) -> TokenRun:
    """Return the tokens of the chunks that contain the lines from `first` to `last`.

    Other chunks are not processed.
    """
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return EMPTY
    return _TokenEncoder(template, encoding).of_lines(first, last)


class _TokenEncoder:
    """Encodes the tokens of one text, with columns in one encoding."""

    def __init__(self, template: Template, encoding: PositionEncoding) -> None:
        self._root = template.source.root
        self._source = template.source
        self._names: FileNames = template.names
        self._header = template.header
        self._encoding = encoding

    def of_file(self) -> TokenRun:
        return join_runs(self.of_chunks(0, self._root.line_ends))

    def of_lines(self, first: int, last: int) -> TokenRun:
        return join_runs(self.of_chunks(self._source.line_span(first).start, last))

    def of_chunks(self, offset: int, last: int) -> Iterator[tuple[int, TokenRun]]:
        """Yield the first line and the run of each chunk, from `offset` to the line `last`."""
        resolver, begin = self._names.scopes_at(offset)
        for located in self._root.placed(begin.index):
            if located.first_line > last:
                break
            yield located.first_line, self._run(located.chunk, resolver, located.start)

    def _run(self, chunk: Chunk, resolver: Resolver, start: int) -> TokenRun:
        """Return the run of a chunk at offset `start`, the position of `resolver`, which is advanced."""
        declared = self._header if start == 0 else None
        references: list[NameReference] = []
        if _has_loose(chunk):
            references = list(resolver.references(chunk, start))
            meanings: tuple[object, ...] = tuple(map(reference_type, references))
        else:
            meanings = self._meanings(chunk, resolver)
        key = (meanings, self._encoding)
        known = chunk.facts.get(_TokenEncoder)
        if isinstance(known, tuple) and known[:2] == key and known[2] is declared:
            if not _has_loose(chunk):
                pass_outline(resolver, chunk, start)
            found = known[3]
            assert isinstance(found, TokenRun)
            return found
        if not _has_loose(chunk):
            references = list(resolver.references(chunk, start))
        run = self._of_chunk(chunk, references, start, declared)
        chunk.facts[_TokenEncoder] = (*key, declared, run)
        return run

    def _meanings(self, chunk: Chunk, resolver: Resolver) -> tuple[object, ...]:
        """Return the kinds of external names that the chunk reads, which its token types depend on.

        No block tag of the chunk has its counterpart in another chunk.
        """
        found: list[tuple[str, str]] = []
        late = self._names.bound_at_end
        for step in outline(chunk):
            assert isinstance(step, Zone)
            for name in sorted(step.reads):
                binding = resolver.meaning(name)[0]
                if binding is not None:
                    found.append((name, binding.kind))
                elif name in late:
                    found.append((name, f"late {late[name][0].kind}"))
        return tuple(found)

    def _of_chunk(
        self, chunk: Chunk, references: list[NameReference], start: int, declared: Declarations | None
    ) -> TokenRun:
        placed = [reference._replace(span=reference.span.shifted(-start)) for reference in references]
        tokens = [*jinja_tokens(chunk, placed), *yaml_tokens(chunk)]
        if declared is not None:
            tokens = _with_header(tokens, declared, chunk.text)
        return encode_tokens(chunk, tokens, self._encoding)


def _has_loose(chunk: Chunk) -> bool:
    """Return whether a block tag of the chunk has its counterpart in another chunk."""
    return any(isinstance(step, NameEvent) for step in outline(chunk))


def _with_header(tokens: list[SemanticToken], header: Declarations, text: str) -> list[SemanticToken]:
    """Return the tokens with the header comment replaced by the tokens of its YAML."""
    start, end = header.span
    rest = [token for token in tokens if not (token.type == "comment" and token.start == start)]
    rest.append(SemanticToken(start, start + len(OPENING), "comment"))
    rest.append(SemanticToken(max(end - len(CLOSING), start + len(OPENING)), end, "comment"))
    return [*rest, *_of_header(header, text)]


def _of_header(header: Declarations, text: str) -> Iterator[SemanticToken]:
    for token in node_tokens(header.tree, text) if header.tree is not None else ():
        is_part = token.type in {"partName", "role", "promptText"}
        yield token._replace(type="string", modifiers=0) if is_part else token
