"""Formatting of a prompt file, also while somebody types, by its kind and the files that include it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from promptls.format.frame import (
    REUSED,
    frame_edits,
    last_frame_edits,
    prints_nothing,
    runs_on,
    same_tokens,
    scalar_texts,
)
from promptls.lint.rule import Edit, apply_edits
from promptls.semantic.kind import Kind
from promptls.semantic.parts import chunk_items
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.blocks import block_tags, chunk_blocks, pass_tag
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.jinja.tag_tokens import Token, tokenize
from promptls.syntax.source import Layout, Source
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span, line_end
from promptls.workspace.snapshot import Snapshot

_WORDS: Final = frozenset({"and", "or", "not", "in", "is", "if", "else", "recursive", "ignore", "import"})
"""Names that are not operands, so that a following bracket or operator is not a call, item or operation."""
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_SIGNS: Final = frozenset({"+", "-", "*", "**"})
_PLAIN_SPACE: Final = re.compile(r"[ \t\r\n]*")
_TRAILING: Final = re.compile(r"[ \t]+(?=[\r\n])")
_RAW: Final = re.compile(r"\{%([-+]?)\s*raw\s*(-?)%\}(?P<body>.*)\{%([-+]?)\s*endraw\s*([-+]?)%\}", re.DOTALL)
_COMMENT: Final = re.compile(r"\{#(?P<before>[-+]?)(?P<text>[^\r\n]*?)(?P<after>[-+]?)#\}")


def format_tag(tag: Tag) -> str:
    """Return the formatted text of the tag; the original text if jinja2 could read the result differently."""
    return _style(tag.kind, tag.text, tag.inner_start, tag.inner_end) if not tag.unclosed else tag.text


@lru_cache(maxsize=8192)
def _style(kind: str, text: str, inner_start: int, inner_end: int) -> str:
    if kind == "raw":
        made = _raw(text)
    elif kind == "comment":
        made = _comment(text)
    else:
        inside = _inside(text, inner_start, inner_end)
        made = text if inside is None else f"{text[:inner_start]}{inside}{text[inner_end:]}"
    return made if made == text or same_tokens(text, made) else text


def _raw(text: str) -> str:
    match = _RAW.fullmatch(text)
    if match is None:
        return text
    before, after, body, end_before, end_after = match.groups()
    return f"{{%{before} raw {after}%}}{body}{{%{end_before} endraw {end_after}%}}"


def _comment(text: str) -> str:
    """Return a single-line comment with a space on either side, if it begins and ends with words."""
    match = _COMMENT.fullmatch(text)
    if match is None:
        return text
    inside = match["text"]
    before = " " if inside[:1].isalnum() else ""
    after = " " if inside[-1:].isalnum() or inside[-1:] in {".", "!", "?"} else ""
    return f"{{#{match['before']}{before}{inside}{after}{match['after']}#}}"


def _inside(text: str, start: int, end: int) -> str | None:
    """Return the formatted text between the delimiters; None if it contains an unknown token."""
    tokens = tokenize(text, start, end)[:-1]
    if not tokens or any(token.kind == "unknown" for token in tokens):
        return None
    is_statement = text.startswith("{%")
    pieces = [_spaced_or_written(text[start : tokens[0].start], " ")]
    brackets: list[str] = []
    for index, token in enumerate(tokens):
        if token.text in _CLOSING and token.kind == "operator" and brackets:
            brackets.pop()
        if index:
            written = text[tokens[index - 1].end : token.start]
            space = _space(tokens, index, brackets, is_statement=is_statement)
            pieces.append(_spaced_or_written(written, space))
        pieces.append(token.text)
        if token.text in _OPENING and token.kind == "operator":
            called = token.text != "{" and index and _is_operand(tokens, index - 1, is_statement=is_statement)
            brackets.append(f"{token.text}{'call' if called else ''}")
    pieces.append(_spaced_or_written(text[tokens[-1].end : end], " "))
    return "".join(pieces)


def _spaced_or_written(written: str, space: str) -> str:
    """Return `space`, or the white space as written if it contains a line break or unusual characters."""
    if not _PLAIN_SPACE.fullmatch(written):
        return written
    if "\n" in written or "\r" in written:
        return _TRAILING.sub("", written)
    return space


def _space(tokens: list[Token], index: int, brackets: list[str], *, is_statement: bool) -> str:
    """Return the expected space before token `index`, inside the brackets that are open there."""
    before, token = tokens[index - 1], tokens[index]
    around = brackets[-1] if brackets else ""
    if _is_operator(before, _OPENING) or _is_operator(token, _CLOSING) or _is_operator(token, {","}):
        return ""
    if "." in {before.text, token.text} and "operator" in {before.kind, token.kind}:
        return ""
    if around and _is_operator(before, {"="}):
        return ""
    if before.kind == "operator" and before.text in _SIGNS and _is_sign(tokens, index - 1, is_statement):
        return ""
    if token.kind == "operator" and token.text in {"(", "["}:
        return "" if _is_operand(tokens, index - 1, is_statement=is_statement) else " "
    if _is_operator(token, {":"}):
        return ""
    if _is_operator(before, {":"}):
        return " " if around.startswith("{") else ""
    return "" if around and _is_operator(token, {"="}) else " "


def _is_operator(token: Token, texts: frozenset[str] | set[str]) -> bool:
    return token.kind == "operator" and token.text in texts


def _is_sign(tokens: list[Token], index: int, is_statement: bool) -> bool:
    """Return whether the operator at `index` is unary: a sign, or the `*` of an argument."""
    return index == 0 or not _is_operand(tokens, index - 1, is_statement=is_statement)


def _is_operand(tokens: list[Token], index: int, *, is_statement: bool) -> bool:
    """Return whether the token ends an operand, which can be called, subscripted or calculated with."""
    token = tokens[index]
    if token.kind in {"string", "integer", "float"}:
        return True
    if token.kind == "operator":
        return token.text in _CLOSING
    if index and _is_operator(tokens[index - 1], {"."}):
        return True
    if index == 0 and is_statement:
        return token.text == "call"  # `{% call(item) list() %}` is the style of Jinja's documentation
    return token.text not in _WORDS


_KEEPING: Final = re.compile(r"[|>]\d?\+\d?[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")


def format_edits(source: Source, *, frame: bool, within: Span | None = None) -> tuple[Edit, ...]:
    """Return the edits that format the text, in order, without changing what it renders to.

    With `frame`, the YAML around the texts is formatted too, which is valid for prompt files only. For chunks
    that overlap `within`, only edits inside it are returned.
    """
    if not source.language.has_tags:
        return ()  # JSON has its own formatters
    source = source.uncut()  # entries and items are formatted alike
    found: list[Edit] = []
    frame = frame and not any(_keeps_line_ends(chunk) for chunk in source.chunks)
    chunks = zip(source.starts, source.chunks, _uncertain_chunks(source), strict=False)
    last = len(source.chunks) - 1
    for index, (start, chunk, is_unsure) in enumerate(chunks):
        if within is not None and (start > within.end or start + len(chunk.text) < within.start):
            continue
        here = Span(0, len(chunk.text)) if within is None else within.shifted(-start)
        edits = [edit for edit in tag_edits(chunk) if _lies_in(edit.span, here)]
        if frame and not is_unsure:
            layout = last_frame_edits(chunk) if index == last else frame_edits(chunk)
            edits += [edit for edit in layout.single if _lies_in(edit.span, here)]
            if all(_lies_in(edit.span, here) for edit in layout.together):
                edits += layout.together
        found += [Edit(edit.span.shifted(start), edit.text) for edit in edits]
    found += _final_line_end(source, within)
    return tuple(sorted(found, key=lambda edit: edit.span))


@chunk_fact
def _keeps_line_ends(chunk: Chunk) -> bool:
    """Return whether the line breaks after a scalar may be part of it, even those after an omitted block."""
    return bool(_KEEPING.search(chunk.text))


def format_text(text: str, *, frame: bool) -> str:
    """Return the formatted text."""
    return apply_edits(text, format_edits(Source.of(text), frame=frame))


def _lies_in(span: Span, around: Span) -> bool:
    return around.start <= span.start and span.end <= around.end


@chunk_fact
def tag_edits(chunk: Chunk) -> tuple[Edit, ...]:
    """Return the edits of white space inside the chunk's tags; spans are relative to the chunk's start."""
    return tuple(edit for tag in chunk.tags for edit in changes(tag.text, format_tag(tag), tag.span.start))


def changes(before: str, after: str, start: int) -> Iterator[Edit]:
    """Yield the smallest edits between two texts that differ only in white space."""
    first = second = 0
    while first < len(before) or second < len(after):
        if before[first : first + 1] == after[second : second + 1]:
            first, second = first + 1, second + 1
            continue
        ends = [_space_end(before, first), _space_end(after, second)]
        yield Edit(Span(start + first, start + ends[0]), after[second : ends[1]])
        first, second = ends


def _space_end(text: str, start: int) -> int:
    end = start
    while end < len(text) and text[end].isspace():
        end += 1
    return end


def _uncertain_chunks(source: Source) -> list[bool]:
    """Return for each chunk whether its text may be used in another way than as a frame.

    A block that uses its text may be open around it, or a preceding tag may append it to the text of the
    previous chunk. After a header there is no such text.
    """
    found = []
    previous: Chunk | None = None
    has_text = False
    open_blocks: list[str] = []
    for chunk in source.chunks:
        loose = chunk_blocks(chunk).loose
        found.append(
            (previous is not None and has_text and runs_on(previous))
            or any(keyword in REUSED for keyword in open_blocks)
            or any(tag.keyword in REUSED for tag in loose)
        )
        previous = chunk
        has_text = has_text or not prints_nothing(chunk)
        for tag in loose:
            pass_tag(open_blocks, tag)
    return found


def _final_line_end(source: Source, within: Span | None) -> tuple[Edit, ...]:
    """Return the insertion of a final line break, which Jinja strips and therefore does not render."""
    end = len(source)
    last = source.chunks[-1]
    if not last.text or last.text.endswith(("\n", "\r")) or (within is not None and within.end < end):
        return ()
    if any(tag.unclosed for tag in last.tags):
        return ()
    return (Edit.insert(end, "\r\n" if "\r\n" in source.chunks[0].text else "\n"),)


_BARE_END: Final = re.compile(r"(\{%[-+]?\s*)end(\s*[-+]?%\})")
_KEY: Final = re.compile(r"(?P<before>\s*(?:-[ ]+)*)(?:[\w\"'][^#{}]*?:|(?=[|>]))(?:\s+(?P<value>.*))?")
_BLOCK_HEADER: Final = re.compile(r"[|>](?:[-+]|(?P<digit>\d)|[-+](?P<after>\d)|\d[-+])?\s*(?:#.*)?")
_STEP: Final = 2


def edits_after_brace(source: Source, offset: int) -> tuple[Edit, ...]:
    """Return the edits after the tag that ends at `offset` was closed.

    They space the tag, name a bare `end`, and remove an inserted end tag below the same one.
    """
    chunk, start = _chunk_at(source, max(offset - 1, 0))
    tag = next((tag for tag in chunk.tags if tag.span.end == offset - start and not tag.unclosed), None)
    if tag is None:
        return ()
    bare = _BARE_END.fullmatch(tag.text)
    if bare is None:
        spacing = changes(tag.text, format_tag(tag), start + tag.span.start)
        return (*spacing, *_surplus_end_tag(source, offset, tag))
    open_blocks = _open_blocks(source, offset - len(tag.text))
    if not open_blocks:
        return ()
    keyword = open_blocks[-1]
    begin, end = start + tag.span.start, start + tag.span.end
    inside = Span(begin + len(bare[1].rstrip()), end - len(bare[2].lstrip()))
    return (Edit(inside, f" end{keyword} "),)


def _surplus_end_tag(source: Source, offset: int, tag: Tag) -> Iterator[Edit]:
    """Yield the removal of the next line, if it has the same end tag and no block is left for it."""
    line = source.line_column(offset).line
    after = source.line_span(line + 1)
    name = tag.text.strip("{%-+ }")
    if not name.startswith("end") or source.slice(after).strip("{%-+ }\n") != name:
        return
    if source.slice(Span(offset, after.start)).strip():
        return
    if name.removeprefix("end") not in _open_blocks(source, offset):
        yield Edit(Span(offset, after.end), "")


def edits_after_newline(source: Source, offset: int, *, keeps_cursor: bool = False) -> tuple[Edit, ...]:
    """Return the edits for the empty line at `offset`: indentation, the end of the block or header above.

    With `keeps_cursor`, the editor does not move the cursor after a text that is inserted there.
    """
    line = source.line_column(offset).line
    here = source.line_span(line)
    after = source.line_span(line + 1)
    # Ends are inserted on the next line, because an edit at the cursor moves the cursor after it.
    has_next = after.start > here.end
    if line == 1 and source.line(0).strip() == "{#---":
        # An editor indents the line, or closes the brace.
        cleared = (
            (Edit(here, ""),) if source.slice(here).strip() in {"", "}"} and here.start < here.end else ()
        )
        is_unclosed = has_next and "---#}" not in source.text
        return (*cleared, *((Edit.insert(after.start, "---#}\n"),) if is_unclosed else ()))
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
    if ending and has_next:
        edits.append(Edit.insert(after.start, f"{indentation}{ending}\n"))
    elif ending and keeps_cursor:
        edits.append(Edit.insert(here.end, f"\n{indentation}{ending}"))
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
        return " " * (column + int(header["digit"] or header["after"] or _STEP))
    if not value and line.rstrip().endswith(":"):
        return " " * (column + _STEP)
    return " " * column


def _blocks(node: Node, depth: int = 0) -> list[Scalar]:
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


def _open_blocks(source: Source, offset: int) -> list[str]:
    """Return the keywords of the blocks that are open at `offset`, the innermost last."""
    stack: list[str] = []
    for start, chunk in zip(source.starts, source.chunks, strict=False):
        if start > offset:
            break
        whole = start + len(chunk.text) <= offset
        for tag in chunk_blocks(chunk).loose if whole else block_tags(chunk):
            if start + tag.span.start >= offset:
                break
            pass_tag(stack, tag)
    return stack


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


def typing_edits(
    snapshot: Snapshot, path: str, offset: int, typed: str, *, keeps_cursor: bool = False
) -> tuple[Edit, ...]:
    """Return the on-type formatting edits after `typed`, a brace or line break, was typed before `offset`."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return ()
    if typed == "}":
        return edits_after_brace(template.source, offset)
    if typed not in {"\n", "\r\n", "\r"}:
        return ()
    return edits_after_newline(template.source, offset, keeps_cursor=keeps_cursor)


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
