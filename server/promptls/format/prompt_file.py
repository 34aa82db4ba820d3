"""Formatting of a whole prompt file, depending on its kind and on the files that include it."""

from __future__ import annotations

import re
from typing import Final

from promptls.format.frame import REUSED, scalar_texts
from promptls.format.source_format import changes, format_edits, styled
from promptls.lint.rule import Edit
from promptls.semantic.kind import Kind
from promptls.semantic.parts import chunk_items
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import block_tags, chunk_blocks
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.source import Layout, Source
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span, line_end
from promptls.workspace.snapshot import Snapshot

_BARE_END: Final = re.compile(r"(\{%[-+]?\s*)end(\s*[-+]?%\})")
_KEY: Final = re.compile(r"(?P<before>\s*(?:-[ ]+)*)(?:[\w\"'][^#{}]*?:|(?=[|>]))(?:\s+(?P<value>.*))?")
_BLOCK_HEADER: Final = re.compile(r"[|>](?:[-+]|(?P<digit>\d)|[-+](?P<behind>\d)|\d[-+])?\s*(?:#.*)?")
_STEP: Final = 2


def edits_after_brace(source: Source, offset: int) -> tuple[Edit, ...]:
    """Return the edits after the tag that ends at `offset` was closed: spacing, an end tag's name."""
    chunk, start = _chunk_at(source, max(offset - 1, 0))
    tag = next((tag for tag in chunk.tags if tag.span.end == offset - start and not tag.unclosed), None)
    if tag is None:
        return ()
    bare = _BARE_END.fullmatch(tag.text)
    if bare is None:
        return tuple(changes(tag.text, styled(tag), start + tag.span.start))
    keyword = _open_block(source, offset - len(tag.text))
    if keyword is None:
        return ()
    begin, end = start + tag.span.start, start + tag.span.end
    inside = Span(begin + len(bare[1].rstrip()), end - len(bare[2].lstrip()))
    return (Edit(inside, f" end{keyword} "),)


def edits_after_newline(source: Source, offset: int) -> tuple[Edit, ...]:
    """Return the edits for the empty line at `offset`: indentation, the end tag of the block above."""
    line = source.line_column(offset).line
    here = source.line_span(line)
    if line == 0 or source.line(line).strip():
        return ()
    above = source.line_span(line - 1)
    chunk, start = _chunk_at(source, above.start)
    inside = [tag for tag in chunk.tags if tag.span.start < offset - start < tag.span.end]
    text = source.slice(above)
    if inside or not text.strip():
        return ()
    edits = []
    indentation = _indentation(chunk, text, above.start - start)
    if source.slice(here) != indentation:
        edits.append(Edit(here, indentation))
    ending = _missing_end_tag(source, text, above.start)
    after = source.line_span(line + 1)
    if ending and after.start > here.end:
        # The end tag is inserted on the next line, because an edit at the cursor would move the cursor after
        # it.
        edits.append(Edit(Span(after.start, after.start), f"{indentation}{ending}\n"))
    return tuple(edits)


def _chunk_at(source: Source, offset: int) -> tuple[Chunk, int]:
    found = source.uncut().located(offset)
    return found.chunk, found.start


def _indentation(chunk: Chunk, line: str, start: int) -> str:
    """Return the indentation of the line after `line`, which begins at `start` of the chunk."""
    same = line[: len(line) - len(line.lstrip())]
    roots = chunk_yaml(chunk).roots
    if any(_is_text_of(chunk, scalar, start) for root in roots for scalar in _blocks(root)):
        return same
    if not roots and _looks_like_text(chunk, start, len(same)):
        return same
    match = _KEY.fullmatch(line)
    if match is None:
        return same
    column = len(match["before"])
    value = match["value"] or ""
    header = _BLOCK_HEADER.fullmatch(value or line[column:])
    if header:
        return " " * (column + int(header["digit"] or header["behind"] or _STEP))
    if not value and line.rstrip().endswith(":"):
        return " " * (column + _STEP)
    return " " * column


def _blocks(node: Node, depth: int = 0) -> list[Scalar]:
    """Return the block scalars in a tree."""
    if isinstance(node, Scalar):
        return [node] if node.style in {"|", ">"} else []
    if depth > _MAX_DEPTH:
        return []
    inside = node.items if isinstance(node, Sequence) else ()
    if isinstance(node, Mapping):
        inside = tuple(entry.value for entry in node.entries)
    return [scalar for each in inside for scalar in _blocks(each, depth + 1)]


_MAX_DEPTH: Final = 50


def _is_text_of(chunk: Chunk, scalar: Scalar, offset: int) -> bool:
    return line_end(chunk.text, scalar.span.start) < offset <= scalar.span.end


def _looks_like_text(chunk: Chunk, start: int, indented: int) -> bool:
    """Return whether the line's indentation puts it in a block scalar, in a chunk whose YAML is invalid."""
    for line in reversed(chunk.text[:start].splitlines()):
        column = len(line) - len(line.lstrip())
        if line.strip() and column < indented:
            match = _KEY.fullmatch(line)
            return match is not None and bool(_BLOCK_HEADER.fullmatch(match["value"] or line[column:]))
    return False


def _missing_end_tag(source: Source, line: str, start: int) -> str:
    """Return the end tag of the block that the line opens, if it is unclosed; else an empty text."""
    chunk, base = _chunk_at(source, start)
    tags = [tag for tag in chunk.tags if start - base <= tag.span.start < start - base + len(line)]
    if len(tags) != 1 or tags[0].text != line.strip() or not _opens(tags[0]):
        return ""
    opening = base + tags[0].span.start
    keyword = tag_tree(tags[0]).statement.keyword
    return f"{{% end{keyword} %}}" if opening in _unclosed_blocks(source) else ""


def _opens(tag: Tag) -> bool:
    return tag.kind == "statement" and not tag.unclosed and tag_tree(tag).statement.opens_block


def _unclosed_blocks(source: Source) -> set[int]:
    """Return the offsets of the opening tags of unclosed blocks."""
    stack: list[tuple[str, int]] = []
    lost: set[int] = set()
    for start, chunk in zip(source.starts, source.chunks, strict=False):
        for tag in chunk_blocks(chunk).loose:
            if tag.action == "open":
                stack.append((tag.keyword, start + chunk.tags[tag.place].span.start))
            elif tag.action == "close" and any(keyword == tag.keyword for keyword, _ in stack):
                while (top := stack.pop())[0] != tag.keyword:
                    lost.add(top[1])
    return lost | {offset for _, offset in stack}


def _open_block(source: Source, offset: int) -> str | None:
    """Return the keyword of the innermost block that is open at `offset`."""
    stack: list[str] = []
    for start, chunk in zip(source.starts, source.chunks, strict=False):
        if start > offset:
            break
        whole = start + len(chunk.text) <= offset
        for tag in chunk_blocks(chunk).loose if whole else block_tags(chunk):
            if start + tag.span.start >= offset:
                break
            if tag.action == "open":
                stack.append(tag.keyword)
            elif tag.action == "close" and tag.keyword in stack:
                while stack.pop() != tag.keyword:
                    pass
    return stack[-1] if stack else None


def is_included_as_text(snapshot: Snapshot, path: str) -> bool:
    """Return whether this file is included inside a text, directly or through another file."""
    seen = {path}
    pending = [path]
    while pending:
        current = pending.pop()
        for includer in snapshot.includers(current):
            template = snapshot.template(includer)
            if template is not None and _includes_as_text(snapshot, includer, template, current):
                return True
            if includer not in seen:
                seen.add(includer)
                pending.append(includer)
    return False


def _includes_as_text(snapshot: Snapshot, path: str, template: Template, target: str) -> bool:
    for reference in template.references:
        if reference.keyword != "include" or snapshot.resolve(path, reference) != target:
            continue
        found = template.source.located(reference.span.start)
        if _is_text(found.chunk, reference.span.start - found.start):
            return True
        if any(tag.keyword in REUSED for tag in chunk_blocks(found.chunk).loose):
            return True
    return False


def _is_text(chunk: Chunk, offset: int) -> bool:
    """Return whether the place is under a key, in a scalar, or in a block whose text is used elsewhere."""
    if any(text.start < offset <= text.end for text in scalar_texts(chunk)):
        return True
    start = chunk.text.rfind("\n", 0, offset) + 1
    if chunk_items(chunk).parts and chunk.text[start : start + 1] in {" ", "\t"}:
        return True
    return any(
        chunk.tags[pair.opening].span.start <= offset <= chunk.tags[pair.closing].span.end
        for pair in chunk_blocks(chunk).pairs
        if pair.keyword in REUSED
    )


def file_edits(snapshot: Snapshot, path: str, within: Span | None = None) -> tuple[Edit, ...]:
    """Return the formatting edits of a prompt file, limited to `within`; empty for other files."""
    template = snapshot.template(path)
    kind = snapshot.kind(path)
    if template is None or kind is Kind.OTHER:
        return ()
    frame = _has_frame(template, kind) and not is_included_as_text(snapshot, path)
    return format_edits(template.source, frame=frame, within=within)


def typing_edits(snapshot: Snapshot, path: str, offset: int, typed: str) -> tuple[Edit, ...]:
    """Return the on-type formatting edits after `typed`, a brace or line break, was typed before `offset`."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return ()
    if typed == "}":
        return edits_after_brace(template.source, offset)
    return edits_after_newline(template.source, offset) if typed in {"\n", "\r\n", "\r"} else ()


def _has_frame(template: Template, kind: Kind) -> bool:
    """Return whether the YAML is a frame around texts: a section may be a text that only looks like YAML."""
    if kind in {Kind.OBJECT, Kind.EVALUATION}:
        return True
    if template.source.layout is not Layout.LIST:
        return False
    if kind is Kind.PARTS:
        return True
    items = [chunk_items(chunk) for chunk in template.source.chunks]
    return all(not item.others and all(part.is_likely for part in item.parts) for item in items)
