"""Edits that format a text, each verified to render to the same text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from promptls.format.frame import (
    REUSED,
    applied,
    frame_edits,
    last_frame_edits,
    prints_nothing,
    runs_on,
    same_tokens,
)
from promptls.lint.rule import Edit
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.jinja.tag_tokens import Token, tokenize
from promptls.syntax.source import Source
from promptls.text.positions import Span

_WORDS: Final = frozenset({"and", "or", "not", "in", "is", "if", "else", "recursive", "ignore", "import"})
"""Names that are not operands, so that a following bracket or operator is not a call, item or operation."""
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_SIGNS: Final = frozenset({"+", "-", "*", "**"})
_PLAIN_SPACE: Final = re.compile(r"[ \t\r\n]*")
_TRAILING: Final = re.compile(r"[ \t]+(?=[\r\n])")
_RAW: Final = re.compile(r"\{%([-+]?)\s*raw\s*(-?)%\}(?P<body>.*)\{%([-+]?)\s*endraw\s*([-+]?)%\}", re.DOTALL)
_COMMENT: Final = re.compile(r"\{#(?P<before>[-+]?)(?P<text>[^\r\n]*?)(?P<behind>[-+]?)#\}")


def styled(tag: Tag) -> str:
    """Return the formatted text of the tag; the original text if jinja2 could read the result differently."""
    return _styled(tag.kind, tag.text, tag.inner_start, tag.inner_end) if not tag.unclosed else tag.text


@lru_cache(maxsize=8192)
def _styled(kind: str, text: str, inner_start: int, inner_end: int) -> str:
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
    before, after, body, end_before, end_behind = match.groups()
    return f"{{%{before} raw {after}%}}{body}{{%{end_before} endraw {end_behind}%}}"


def _comment(text: str) -> str:
    """Return a single-line comment with a space on either side, if it begins and ends with words."""
    match = _COMMENT.fullmatch(text)
    if match is None:
        return text
    inside = match["text"]
    before = " " if inside[:1].isalnum() else ""
    after = " " if inside[-1:].isalnum() or inside[-1:] in {".", "!", "?"} else ""
    return f"{{#{match['before']}{before}{inside}{after}{match['behind']}#}}"


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


def formatted(text: str, *, frame: bool) -> str:
    """Return the formatted text."""
    return applied(text, format_edits(Source.of(text), frame=frame))


def _lies_in(span: Span, around: Span) -> bool:
    return around.start <= span.start and span.end <= around.end


@chunk_fact
def tag_edits(chunk: Chunk) -> tuple[Edit, ...]:
    """Return the edits of white space inside the chunk's tags; spans are relative to the chunk's start."""
    return tuple(edit for tag in chunk.tags for edit in changes(tag.text, styled(tag), tag.span.start))


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
            if tag.action == "open":
                open_blocks.append(tag.keyword)
            elif tag.action == "close" and tag.keyword in open_blocks:
                while open_blocks.pop() != tag.keyword:
                    pass
    return found


def _final_line_end(source: Source, within: Span | None) -> tuple[Edit, ...]:
    """Return the insertion of a final line break, which Jinja strips and therefore does not render."""
    end = len(source)
    last = source.chunks[-1]
    if not last.text or last.text.endswith(("\n", "\r")) or (within is not None and within.end < end):
        return ()
    if any(tag.unclosed for tag in last.tags):
        return ()
    return (Edit(Span(end, end), "\r\n" if "\r\n" in source.chunks[0].text else "\n"),)
