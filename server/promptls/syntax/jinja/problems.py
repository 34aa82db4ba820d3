"""Find the syntax errors inside the tags of a chunk."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import lru_cache
from typing import Final

from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja import nodes
from promptls.syntax.jinja.builtins import BLOCKS, KEYWORDS
from promptls.syntax.jinja.expressions import CONSTANTS
from promptls.syntax.jinja.scanner import Tag, jinja_problem
from promptls.syntax.jinja.statements import parse_tag
from promptls.syntax.problem import Related, SyntaxProblem
from promptls.text.positions import Span
from promptls.text.suggest import nearest


@lru_cache(maxsize=4096)
def refusal(text: str, inner_start: int, inner_end: int) -> nodes.Problem | None:
    """Return the first invalid parameter, target, import, call block or argument of a tag, or None."""
    return next(_refusals(parse_tag(text, inner_start, inner_end).statement), None)


def _refusals(statement: nodes.Statement) -> Iterator[nodes.Problem]:
    yield from _in_parameters(statement)
    yield from _in_targets(statement)
    for each in statement.imported:
        if each.name.startswith("_"):
            yield nodes.Problem(each.span, f"`{each.name}` begins with `_`, and Jinja imports no such names")
    called = statement.expressions[-1:] if statement.keyword == "call" else ()
    for node in called:
        if isinstance(node, (nodes.Name, nodes.Attribute, nodes.Constant, nodes.Filter)):
            message = "a `call` block calls a macro: expected its `()`"
            yield nodes.Problem(node.span, message, kind="missing-call", expected="()")
    for expression in statement.read:
        for node in nodes.walk(expression):
            if isinstance(node, (nodes.Call, nodes.Filter, nodes.Test)):
                yield from refused_arguments(node.arguments)


def _in_targets(statement: nodes.Statement) -> Iterator[nodes.Problem]:
    for target in statement.targets:
        for node in nodes.walk(target):
            if isinstance(node, nodes.Attribute) and statement.keyword in {"for", "with"}:
                yield nodes.Problem(node.span, f"only a name is allowed here: `{node.name}` is an attribute")
            if not isinstance(node, nodes.Name):
                continue
            if node.name in CONSTANTS:
                yield nodes.Problem(node.span, f"`{node.name}` is a constant: nothing can be assigned to it")
            elif node.name == "loop" and statement.keyword == "for":
                yield nodes.Problem(
                    node.span, "`loop` is Jinja's own variable in a loop: choose another name"
                )


def _in_parameters(statement: nodes.Statement) -> Iterator[nodes.Problem]:
    seen: set[str] = set()
    has_default = False
    for each in statement.parameters:
        if each.name in seen:
            yield nodes.Problem(each.span, f"the parameter `{each.name}` occurs twice")
        if has_default and each.default is None:
            yield nodes.Problem(
                each.span, f"`{each.name}` needs a default, because it follows one that has one"
            )
        seen.add(each.name)
        has_default = has_default or each.default is not None


def refused_arguments(arguments: tuple[nodes.Expression, ...]) -> Iterator[nodes.Problem]:
    """Yield the arguments that are not allowed in their position, or are passed twice by keyword."""
    seen: set[str] = set()
    for each in arguments:
        if not isinstance(each, nodes.Keyword):
            if seen:
                yield nodes.Problem(each.span, "a positional argument cannot follow a named one")
            continue
        if each.name in seen and each.name not in {"*", "**"}:
            yield nodes.Problem(each.span, f"the argument `{each.name}` is given twice")
        seen.add(each.name)


_OTHER_TAGS: Final = {
    "elseif": "elif",
    "elsif": "elif",
    "elsf": "elif",
    "assign": "set",
    "let": "set",
    "var": "set",
    "foreach": "for",
    "endforeach": "endfor",
}
_EXTENSIONS: Final = frozenset({"do", "break", "continue", "trans", "pluralize", "endtrans", "debug"})


@lru_cache
def meant_tag(keyword: str) -> str | None:
    """Return the tag that an unknown tag probably means: one with the same letters, or a similar one."""
    if keyword in _OTHER_TAGS:
        return _OTHER_TAGS[keyword]
    letters = sorted(keyword)
    same = next((known for known in sorted(KEYWORDS) if sorted(known) == letters), None)
    return same or nearest(keyword, KEYWORDS)


def _meant(keyword: str, following: str) -> str | None:
    """Return the tag that an unknown tag, with the text after its keyword, probably means."""
    if keyword in _EXTENSIONS:
        return None
    if keyword == "end":
        end = f"end{(following.split() or [''])[0]}"
        return end if end in KEYWORDS else None
    return meant_tag(keyword)


_ADVICE: Final = {
    "end": "; the end of a block has its name, as `endif` does",
    **dict.fromkeys(_EXTENSIONS, ": it belongs to an extension of Jinja, and Prompt Poet loads none"),
}
"""The end of the message about an unknown tag that means no other one."""


_NEAR: Final = 8
"""How many characters after an unclosed tag may be spaces before the text that it seems to run into."""
_OPENED: Final = {"}}": "{{", "%}": "{%", "#}": "{#", "{% endraw %}": "{% raw %}"}
_NAMES: Final = {"output": "expression", "statement": "tag", "comment": "comment", "raw": "raw block"}


def tag_tree(tag: Tag) -> nodes.TagTree:
    """Return the tree of an output or statement tag."""
    return parse_tag(tag.text, tag.inner_start, tag.inner_end)


def statement_of(tag: Tag) -> nodes.Statement | None:
    """Return the statement of a tag; None for tags that are no statements."""
    return tag_tree(tag).statement if tag.kind == "statement" else None


def keyword_of(tag: Tag) -> str:
    """Return the keyword of a statement; empty for other tags."""
    return tag_tree(tag).statement.keyword if tag.kind == "statement" else ""


def expressions_in(chunk: Chunk) -> Iterator[tuple[int, nodes.Expression]]:
    """Yield every expression in the chunk's tags, including nested ones, each with the start of its tag."""
    for tag in chunk.tags:
        if tag.kind in {"output", "statement"}:
            start = tag.span.start
            for node in _expressions(tag.text, tag.inner_start, tag.inner_end):
                yield start, node


def loops_in(chunk: Chunk) -> Iterator[tuple[int, nodes.Statement]]:
    """Yield the `for` tags of the chunk that iterate over something, each with its start."""
    for tag in chunk.tags:
        statement = statement_of(tag)
        if statement is not None and statement.keyword == "for" and statement.expressions:
            yield tag.span.start, statement


def uncalled_attributes(
    chunk: Chunk, names: Container[str], tests: Container[str]
) -> Iterator[tuple[int, nodes.Attribute]]:
    """Yield the attributes with these names that are not called, each with the start of its tag.

    Attributes that are only passed to one of the `tests`, such as `callable`, are left out.
    """
    others: set[int] = set()
    for start, node in expressions_in(chunk):
        if isinstance(node, nodes.Call):
            others.add(id(node.function))
        elif isinstance(node, nodes.Test) and node.name in tests:
            others.add(id(node.target))
        elif isinstance(node, nodes.Attribute) and node.name in names and id(node) not in others:
            yield start, node


@lru_cache(maxsize=4096)
def _expressions(text: str, inner_start: int, inner_end: int) -> tuple[nodes.Expression, ...]:
    """Return every expression in a tag; cached by the tag's text, like its tree."""
    statement = parse_tag(text, inner_start, inner_end).statement
    return tuple(node for expression in statement.read for node in nodes.walk(expression))


@chunk_fact
def tag_problems(chunk: Chunk) -> tuple[SyntaxProblem, ...]:
    """Return the errors inside the chunk's tags, at most one per tag, in order."""
    return tuple(_problems(chunk))


def has_tag_problem(chunk: Chunk, span: Span) -> bool:
    """Return whether a tag of the chunk has an error that begins in a span."""
    return any(span.covers(problem.span.start) for problem in tag_problems(chunk))


def _problems(chunk: Chunk) -> Iterator[SyntaxProblem]:
    for tag in chunk.tags:
        if tag.unclosed:
            yield _unclosed(tag, chunk.text[tag.span.end :][:_NEAR].lstrip(" ")[:2])
        elif tag.kind in {"output", "statement"}:
            problem = _inside(tag)
            if problem:
                yield problem


def _unclosed(tag: Tag, following: str) -> SyntaxProblem:
    opening = _OPENED[tag.unclosed]
    if tag.text[2:].endswith("}}") and tag.unclosed == "}}":
        message = "expected `}` before this `}}`: the `{` inside of the expression is not closed"
        return SyntaxProblem("jinja", tag.span, message)
    if following == "{{" and tag.kind in {"output", "statement"} and tag.text[2:].strip():
        advice = ": inside of a tag, names have no braces" if tag.kind == "statement" else ""
        message = f"expected `{tag.unclosed}` before the next `{{{{`{advice}"
        return SyntaxProblem("jinja", tag.span, message)
    closing = "endraw" if tag.kind == "raw" else ""
    found = tag.text[-2:] if tag.kind != "raw" and tag.text[2:].endswith(("}}", "%}")) else ""
    closed_by = f", but `{found}` closes it" if found else " and nothing closes it"
    message = f"expected `{tag.unclosed}`: this {_NAMES[tag.kind]} is opened by `{opening}`{closed_by}"
    return SyntaxProblem("jinja", tag.span, message, missing_end=closing)


def _inside(tag: Tag) -> SyntaxProblem | None:
    """Return the first error of a closed tag; jinja2 decides whether there is one."""
    tree = tag_tree(tag)
    statement = tree.statement
    keyword = statement.keyword
    if keyword.startswith("end") and keyword[3:] in {*BLOCKS, "block"}:
        message = "" if not tree.problems else tree.problems[0].message
    else:
        message = jinja_problem(tag.text, keyword, opens_block=statement.opens_block)
    refused = refusal(tag.text, tag.inner_start, tag.inner_end) if not tree.problems else None
    if refused is not None:
        return _problem(refused, refused.span).shifted(tag.span.start)
    if not message:
        return None
    if keyword and keyword not in KEYWORDS and keyword != "output":
        span = statement.keyword_span.shifted(tag.span.start)
        after = tag.text[statement.keyword_span.end : tag.inner_end]
        meant = _meant(keyword, after)
        advice = f"; did you mean `{meant}`?" if meant else _ADVICE.get(keyword, "")
        whole = keyword + (after.split() or [""])[0] if keyword == "end" else keyword
        unknown = f"unknown tag `{keyword}`{advice}"
        return SyntaxProblem("jinja", span, unknown, unknown_tag=whole, expected=(meant,) if meant else ())
    if tree.problems:
        problem = tree.problems[0]
        span = problem.span if problem.span.end > problem.span.start else _visible(tag, problem.span.start)
        return _problem(problem, span).shifted(tag.span.start)
    inside = Span(tag.inner_start, max(tag.inner_end, tag.inner_start + 1))
    return SyntaxProblem("jinja", inside.shifted(tag.span.start), message)


def _problem(found: nodes.Problem, span: Span) -> SyntaxProblem:
    opened = (Related(found.opened, "opened here"),) if found.opened else ()
    expected = (found.expected,) if found.expected else ()
    return SyntaxProblem("jinja", span, found.message, opened, kind=found.kind, expected=expected)


def _visible(tag: Tag, offset: int) -> Span:
    """Return a span of at least one character for a problem at a position where something is missing."""
    if offset < len(tag.text):
        return Span(offset, min(offset + 2, len(tag.text)))
    return Span(max(len(tag.text) - 2, 0), len(tag.text))
