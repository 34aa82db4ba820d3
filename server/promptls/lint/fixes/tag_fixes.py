"""Fixes of Jinja errors: missing or misspelled delimiters, end tags and keywords."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.lint.fixes.foreign_syntax import in_jinja
from promptls.lint.rule import Edit, Fix
from promptls.semantic.parts import chunk_contents
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, Located
from promptls.syntax.facts import summary
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.builtins import KEYWORDS
from promptls.syntax.jinja.problems import keyword_of, tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.problem import STRAYS, SyntaxProblem
from promptls.syntax.source import Source
from promptls.text.positions import Span, leading_spaces, line_column, line_end
from promptls.text.suggest import is_typo


def removed_tag(located: Located, offset: int) -> Edit | None:
    """Return an edit, relative to the chunk's start, that removes the tag at `offset` and the block it opens.

    Return None if there is no tag, or if its block does not end in the same chunk.
    """
    span = block_span(located.chunk, offset)
    return Edit(whole_lines(located.chunk, span).shifted(located.start), "") if span is not None else None


def block_span(chunk: Chunk, offset: int) -> Span | None:
    """Return the span of the tag at `offset` with its block; None if the block ends outside of the chunk."""
    tag = chunk.tag_at(offset)
    if tag is None or not _opens_block(tag):
        return tag and tag.span
    pairs = chunk_blocks(chunk).pairs
    closing = next((chunk.tags[pair.closing] for pair in pairs if chunk.tags[pair.opening] is tag), None)
    return Span(tag.span.start, closing.span.end) if closing is not None else None


def _opens_block(tag: Tag) -> bool:
    return tag.kind == "statement" and tag_tree(tag).statement.opens_block


def whole_lines(chunk: Chunk, span: Span) -> Span:
    """Return the span, extended by its line break if nothing else is on its lines."""
    first = chunk.line_starts[line_column(chunk.line_starts, span.start).line]
    end = line_end(chunk.text, span.end)
    if chunk.text[first : span.start].strip() or chunk.text[span.end : end].strip():
        return span
    after = line_column(chunk.line_starts, span.end).line + 1
    return Span(first, chunk.line_starts[after] if after < len(chunk.line_starts) else len(chunk.text))


_LONE_BRACE: Final = re.compile(r"\{[{%][^{}'\"]*\}")
"""A tag that is closed by only one brace."""
_SHORT: Final = 2
"""A word of this many letters resembles too many keywords."""


_REMOVE: Final = "Remove this tag"


def jinja_fixes(template: Template, problem: SyntaxProblem) -> tuple[Fix, ...]:
    """Return the fixes for a Jinja error of the file; none if the intended meaning is unclear."""
    located = template.source.located(problem.span.start)
    tag = located.tag_at(problem.span.start)
    if tag is None:
        return ()
    place = tag.span.shifted(located.start)
    if any(
        each.kind == "misplaced-branch" and place.covers(each.span.start) for each in template.syntax_problems
    ):
        return ()  # what belongs in this place is unknown
    # A tag that closes nothing may close what an earlier broken tag opens, or what is in an unclosed comment.
    is_first = all(
        each.language != "jinja" or each.span.start >= problem.span.start for each in template.syntax_problems
    )
    is_first &= not _has_swallowing_comment(template.source.root)
    found = _fixes(template.source, problem, located, tag)
    return tuple(fix for fix in found if is_first or fix.title != _REMOVE)


_has_swallowing_comment: Final = summary(
    lambda chunk: any(tag.kind == "comment" and "{#" in tag.text[2:] for tag in chunk.tags), any
)
"""Whether a comment contains the beginning of another comment, so that its own end may be missing."""


def _fixes(source: Source, problem: SyntaxProblem, located: Located, tag: Tag) -> Iterator[Fix]:
    start = located.start + tag.span.start
    if tag.unclosed:
        yield from _unclosed(source, problem, located, tag)
        return
    if problem.kind == "missing-call" and source.slice(problem.span).replace(".", "").isidentifier():
        place = Span(problem.span.end, problem.span.end)
        yield Fix("Insert `()`", (Edit(place, "()"),), preferred=True)
        return
    written = in_jinja(tag, start) if tag.kind in {"output", "statement"} else None
    if written is not None:
        yield written
        return
    whole = tag.span.shifted(located.start)
    if _HANDLEBARS_END.fullmatch(tag.text):
        yield Fix.change_to(whole, "{% endif %}", preferred=True)
    elif tag.kind == "output" and _LOOP_HEAD.fullmatch(tag.text):
        yield Fix.change_to(whole, f"{{%{tag.text[2:-2]}%}}", preferred=True)
    elif opening := _HANDLEBARS_IF.fullmatch(tag.text):
        yield Fix.change_to(whole, f"{{% if {opening[1]} %}}")
    elif problem.kind == "half-delimiter":
        (closing,) = problem.expected
        title = "Insert `}`" if closing == "}}" else f"Change `}}` to `{closing}`"
        yield Fix(title, (Edit(problem.span, closing),), preferred=True)
    elif _TRIPLED.fullmatch(tag.text):
        yield Fix.change_to(whole, tag.text[1:-1], preferred=True)
    else:
        if problem.kind == "missing-bracket":
            end = start + tag.inner_start + len(tag.text[tag.inner_start : tag.inner_end].rstrip())
            yield Fix(f"Insert `{problem.expected[0]}`", (Edit.insert(end, problem.expected[0]),))
        if tag.kind == "statement":
            yield from _of_statement(source, problem, located, tag)


_TRIPLED: Final = re.compile(r"\{{3}[^{}]+\}{3}")
_LOOP_HEAD: Final = re.compile(r"\{\{\s*for\s+\w+(?:\s*,\s*\w+)?\s+in\s+[\w.()]+\s*\}\}")
_HANDLEBARS_IF: Final = re.compile(r"\{\{\s*#\s*if\s+([A-Za-z_][\w.]*)\s*\}\}")
_HANDLEBARS_END: Final = re.compile(r"\{\{\s*/\s*if\s*\}\}")


_END_OF_RAW: Final = re.compile(r"\{%[-+]?\s*(\w+)\s*[-+]?%\}")


def _unclosed(source: Source, problem: SyntaxProblem, located: Located, tag: Tag) -> Iterator[Fix]:
    if tag.unclosed in {"}}", "%}"}:
        yield _closed(tag, located.start + tag.span.start)
    elif tag.unclosed == "#}":
        end = located.start + line_end(located.chunk.text, tag.span.end)
        yield Fix("Close the comment at the end of its line", (Edit.insert(end, " #}"),))
    elif tag.kind == "raw":
        tags = _END_OF_RAW.finditer(source.text, located.start + tag.span.start)
        misspelled = next((each for each in tags if is_typo(each[1], "endraw")), None)
        if misspelled is not None:
            yield Fix.change_to(Span(*misspelled.span(1)), "endraw", preferred=True)
            return
        yield from _missing_end(source, problem, located, tag, "raw")


def _of_statement(source: Source, problem: SyntaxProblem, located: Located, tag: Tag) -> Iterator[Fix]:
    start = located.start + tag.span.start
    statement = tag_tree(tag).statement
    keyword = statement.keyword
    if problem.kind in {"wrong-end", "wrong-block-name"}:
        yield Fix.change_to(problem.span, problem.expected[0], preferred=True)
    elif keyword and keyword not in KEYWORDS:
        meant = _for_open_block(located.chunk, tag, keyword)
        if meant is not None:
            edit = Edit(statement.keyword_span.shifted(start), meant)
            yield Fix(f"Change to `{meant}`", (edit,), preferred=True)
        else:
            yield from _known_keyword(problem, tag, statement.keyword_span, start)
    elif problem.kind == "unordered-ends":
        yield from _swapped(source, problem)
    elif problem.kind == "unclosed-block":
        yield from _missing_end(source, problem, located, tag, keyword)
    elif problem.kind in STRAYS:
        removal = removed_tag(located, tag.span.start)
        if removal:
            yield Fix(_REMOVE, (removal,))


_FOREIGN_ENDS: Final = frozenset({"end", "fi", "done"})


def _for_open_block(chunk: Chunk, tag: Tag, keyword: str) -> str | None:
    """Return the keyword that is meant by `end`, `fi` and `done`, or by Django's `empty`, in the innermost open block."""
    if (
        keyword not in {"end", "empty", "fi", "done"}
        or tag.text[tag.inner_start : tag.inner_end].strip(" -+") != keyword
    ):
        return None
    opened: list[str] = []
    for each in chunk.tags:
        if each.span.start >= tag.span.start:
            break
        if each.kind == "statement":
            statement = tag_tree(each).statement
            if statement.opens_block:
                opened.append(statement.keyword)
            elif opened and statement.keyword in {f"end{opened[-1]}", "end"}:
                opened.pop()
    expected = {"empty": "for", "fi": "if", "done": "for"}.get(keyword)
    if not opened or (expected is not None and opened[-1] != expected):
        return None
    return "else" if keyword == "empty" else f"end{opened[-1]}"


def _known_keyword(problem: SyntaxProblem, tag: Tag, keyword: Span, start: int) -> Iterator[Fix]:
    """Yield the likely keyword for an unknown one; for `end if`, both words are replaced."""
    for meant in problem.expected:
        is_end = tag.text[keyword.start : keyword.end] == "end"
        word = meant.removeprefix("end")
        end = tag.text.index(word, keyword.end) + len(word) if is_end else keyword.end
        edit = Edit(Span(keyword.start, end).shifted(start), meant)
        yield Fix(f"Change to `{meant}`", (edit,), preferred=keyword.end - keyword.start > _SHORT)


def _closed(tag: Tag, start: int) -> Fix:
    """Return the missing delimiter, in place of a wrong one or after the tag."""
    end = start + len(tag.text)
    if tag.text[2:].endswith("}}") and tag.unclosed == "}}":
        return Fix("Insert `}`", (Edit.insert(end - 2, "}"),))
    if tag.text[2:].endswith(("}}", "%}")):
        wrong = tag.text[-2:]
        edit = Edit(Span(end - 2, end), tag.unclosed)
        return Fix(f"Change `{wrong}` to `{tag.unclosed}`", (edit,), preferred=True)
    lone = _LONE_BRACE.match(tag.text)
    if lone and tag.unclosed == "}}":
        place = Span(start + lone.end(), start + lone.end())
        following = tag.text[lone.end() :]
        if following.lstrip(" ").startswith("}"):
            blank = Span(place.start, place.start + leading_spaces(following))
            return Fix("Remove the white space", (Edit(blank, ""),), preferred=True)
        return Fix("Insert `}`", (Edit(place, "}"),), preferred=True)
    if lone and tag.unclosed == "%}":
        place = Span(start + lone.end() - 1, start + lone.end())
        before = tag.text[: lone.end() - 1]
        if before.rstrip().endswith("%"):
            blank = Span(start + len(before.rstrip()), start + len(before))
            return Fix("Remove the white space", (Edit(blank, ""),), preferred=True)
        return Fix("Change `}` to `%}`", (Edit(place, "%}"),), preferred=True)
    has_half = tag.text[2:].endswith(tag.unclosed[0])
    missing = tag.unclosed[1:] if has_half else tag.unclosed
    space = "" if tag.text[-1:] in {" ", tag.unclosed[0]} else " "
    return Fix(f"Insert `{missing}`", (Edit.insert(end, space + missing),))


def _swapped(source: Source, problem: SyntaxProblem) -> Iterator[Fix]:
    """Swap two end tags that are in the wrong order."""
    tags = []
    for each in problem.related:
        located = source.located(each.span.start)
        tag = located.tag_at(each.span.start)
        if tag is None:
            return
        tags.append((tag.span.shifted(located.start), tag.text))
    (first, one), (second, other) = tags
    yield Fix("Swap the two end tags", (Edit(first, other), Edit(second, one)), preferred=True)


def _missing_end(
    source: Source, problem: SyntaxProblem, located: Located, tag: Tag, keyword: str
) -> Iterator[Fix]:
    """Yield the missing end tag, before the tag that closes an outer block or after the block's lines."""
    written = f"{{% end{keyword} %}}"
    title = f"Insert `{written}`"
    if keyword == "if" and _HANDLEBARS_END.search(source.text):
        return
    if any(keyword_of(each) in _FOREIGN_ENDS for each in located.chunk.tags):
        return  # that tag ends the block
    start = located.start + tag.span.start + len(tag.text)
    on_line = source.slice(Span(start, source.line_span(source.line_column(start).line).end))
    if problem.related and not (keyword == "set" and on_line.strip()):
        place = problem.related[0].span.start
        closing = source.located(place)
        end_tag = closing.tag_at(place)
        if end_tag is not None:
            at = closing.start + end_tag.span.start
            before = source.line_span(source.line_column(at).line).start
            lead = source.slice(Span(before, at))
            text = f"{written}\n{lead}" if not lead.strip() else written
            yield Fix(title, (Edit.insert(at, text),))
        return
    start = located.start + tag.span.start
    line = source.line_column(start).line
    end = source.line_span(source.line_column(start + len(tag.text)).line).end
    lead = source.slice(Span(source.line_span(line).start, start))
    after = source.slice(Span(start + len(tag.text), end)).rstrip()
    if lead.strip() or after:
        quote = lead[-1:] if lead[-1:] in {"'", '"'} and after.endswith(lead[-1:]) else ""
        end = start + len(tag.text) + len(after) - len(quote) if quote else end
        yield Fix(title, (Edit.insert(end, written),))
        return
    end = _end_of_body(source, line, len(lead), end)
    if not lead:
        end = _end_in_first_column(source, located, tag, end)
    yield Fix(title, (Edit.insert(end, f"\n{lead}{written}"),))


def _end_in_first_column(source: Source, located: Located, tag: Tag, end: int) -> int:
    """Return the end of the block of a tag in the first column: that of the next part or of its content."""
    first = source.line_column(located.start + tag.span.end).line + 1
    last = source.line_column(len(source)).line
    lines = [line_index for line_index in range(first, last + 1) if source.line(line_index).strip()]
    if lines and source.line(lines[0]).startswith("- "):
        outside = (each for each in lines[1:] if not source.line(each).startswith((" ", "\t")))
        after = next(outside, None)
        if after is not None:
            return source.line_span(max(line_index for line_index in lines if line_index < after)).end
    for content in chunk_contents(located.chunk):
        if content.value.span.covers(tag.span.start):
            inside = source.slice(Span(located.start, located.start + content.value.span.end))
            return max(located.start + len(inside.rstrip()), located.start + tag.span.end)
    return end


def _end_of_body(source: Source, line: int, indent: int, end: int) -> int:
    """Return the end of the last line after `line` with at least this indentation; `end` if there is none."""
    last = end
    for line_index in range(line + 1, source.line_column(len(source)).line + 1):
        text = source.line(line_index)
        if not text.strip():
            continue
        if leading_spaces(text) < indent:
            break
        last = source.line_span(line_index).end
    return last
