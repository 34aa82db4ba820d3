"""The syntax errors inside the tags of a chunk."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.keywords import BLOCKS, KEYWORDS
from promptls.syntax.jinja.nodes import Expression, TagTree, walk
from promptls.syntax.jinja.refusals import refusal
from promptls.syntax.jinja.slip_words import advice_on_tag
from promptls.syntax.jinja.statements import parse_tag
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.jinja.verdict import jinja_objection
from promptls.syntax.problem import Related, SyntaxProblem
from promptls.text.span import Span

_NEAR: Final = 8
"""How many characters behind a tag may be spaces ahead of what it is taken to run into."""
_OPENED: Final = {"}}": "{{", "%}": "{%", "#}": "{#", "{% endraw %}": "{% raw %}"}
_NAMES: Final = {"output": "expression", "statement": "tag", "comment": "comment", "raw": "raw block"}


def tag_tree(tag: Tag) -> TagTree:
    """The tree of an output or statement tag."""
    return parse_tag(tag.text, tag.inner_start, tag.inner_end)


def expressions_in(chunk: Chunk) -> Iterator[tuple[int, Expression]]:
    """Every expression in the chunk's tags, the inner ones too, each with the start of its tag."""
    for tag in chunk.tags:
        if tag.kind in {"output", "statement"}:
            start = tag.span.start
            for node in _expressions(tag.text, tag.inner_start, tag.inner_end):
                yield start, node


@lru_cache(maxsize=4096)
def _expressions(text: str, inner_start: int, inner_end: int) -> tuple[Expression, ...]:
    """Every expression in a tag, kept by the tag's text as its tree is."""
    statement = parse_tag(text, inner_start, inner_end).statement
    tests = () if statement.loop_test is None else (statement.loop_test,)
    return tuple(node for expression in (*statement.expressions, *tests) for node in walk(expression))


@kept
def tag_problems(chunk: Chunk) -> tuple[SyntaxProblem, ...]:
    """The errors inside the chunk's tags, one a tag at most, in their order."""
    return tuple(_problems(chunk))


def _problems(chunk: Chunk) -> Iterator[SyntaxProblem]:
    for tag in chunk.tags:
        if tag.unclosed:
            yield _unclosed(tag, chunk.text[tag.span.end :][:_NEAR].lstrip(" ")[:2])
        elif tag.kind in {"output", "statement"}:
            problem = _inside(tag)
            if problem:
                yield problem


def _unclosed(tag: Tag, behind: str) -> SyntaxProblem:
    opening = _OPENED[tag.unclosed]
    if tag.text[2:].endswith("}}") and tag.unclosed == "}}":
        message = "expected `}` ahead of this `}}`: the `{` inside of the expression is not closed"
        return SyntaxProblem("jinja", tag.span, message)
    if behind == "{{" and tag.kind in {"output", "statement"} and tag.text[2:].strip():
        advice = ": inside of a tag, a name stands without braces" if tag.kind == "statement" else ""
        message = f"expected `{tag.unclosed}` ahead of the next `{{{{`{advice}"
        return SyntaxProblem("jinja", tag.span, message)
    closing = "endraw" if tag.kind == "raw" else ""
    found = tag.text[-2:] if tag.kind != "raw" and tag.text[2:].endswith(("}}", "%}")) else ""
    closed_by = f", but `{found}` closes it" if found else " and nothing closes it"
    message = f"expected `{tag.unclosed}`: this {_NAMES[tag.kind]} is opened by `{opening}`{closed_by}"
    return SyntaxProblem("jinja", tag.span, message, missing_end=closing)


def _inside(tag: Tag) -> SyntaxProblem | None:
    """The first error of a closed tag; jinja2 decides whether there is one."""
    tree = tag_tree(tag)
    statement = tree.statement
    keyword = statement.keyword
    if keyword.startswith("end") and keyword[3:] in {*BLOCKS, "block"}:
        objection = "" if not tree.problems else tree.problems[0].message
    else:
        objection = jinja_objection(tag.text, keyword, opens_block=statement.opens_block)
    refused = refusal(tag.text, tag.inner_start, tag.inner_end) if not tree.problems else None
    if refused is not None:
        return SyntaxProblem("jinja", refused.span.shifted(tag.span.start), refused.message)
    if not objection:
        return None
    if keyword and keyword not in KEYWORDS and keyword != "output":
        span = statement.keyword_span.shifted(tag.span.start)
        behind = tag.text[statement.keyword_span.end : tag.inner_end]
        message = f"unknown tag `{keyword}`{advice_on_tag(keyword, behind)}"
        whole = keyword + (behind.split() or [""])[0] if keyword == "end" else keyword
        return SyntaxProblem("jinja", span, message, unknown_tag=whole)
    if tree.problems:
        problem = tree.problems[0]
        span = problem.span if problem.span.end > problem.span.start else _visible(tag, problem.span.start)
        opened = (Related(problem.opened, "opened here"),) if problem.opened else ()
        return SyntaxProblem("jinja", span, problem.message, opened).shifted(tag.span.start)
    inside = Span(tag.inner_start, max(tag.inner_end, tag.inner_start + 1))
    return SyntaxProblem("jinja", inside.shifted(tag.span.start), objection)


def _visible(tag: Tag, offset: int) -> Span:
    """A span of at least one character for a problem at a place where something is missing."""
    if offset < len(tag.text):
        return Span(offset, min(offset + 2, len(tag.text)))
    return Span(max(len(tag.text) - 2, 0), len(tag.text))
