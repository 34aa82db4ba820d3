"""What would mend a Jinja error: the delimiter, end tag or keyword that is missing or misspelt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.meaning.template import Template
from promptls.rules.fixes.foreign_jinja import in_jinja
from promptls.rules.fixes.removed_tag import removed_tag, tag_at
from promptls.rules.rule import Edit, Fix
from promptls.syntax.group import Located
from promptls.syntax.jinja.keywords import KEYWORDS
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.problem import SyntaxProblem
from promptls.syntax.source import Source
from promptls.text.lines import line_end
from promptls.text.span import Span

_WRONG_END: Final = re.compile(r"expected `(end\w+)` instead of")
_NAMED_END: Final = re.compile(r"this ends the block `(\w+)`")
_CALLED: Final = "expected its `()`"
_BRACKET: Final = re.compile(r"expected `([)\]}])` to close .* found the end of the tag")
_MEANT: Final = re.compile(r"did you mean `(\w+)`")
_LONE_BRACE: Final = re.compile(r"\{[{%][^{}'\"]*\}")
"""A tag that is closed by one brace and nothing else."""
_SHORT: Final = 2
"""A word of so many letters is like too many keywords."""


def jinja_fixes(template: Template, problem: SyntaxProblem) -> tuple[Fix, ...]:
    """The fixes for a Jinja error of the file; none where what is meant cannot be told."""
    located = template.source.located(problem.span.start)
    number = tag_at(located.chunk, problem.span.start - located.start)
    if number is None:
        return ()
    tag = located.chunk.tags[number]
    return tuple(_fixes(template.source, problem, located, tag))


def _fixes(source: Source, problem: SyntaxProblem, located: Located, tag: Tag) -> Iterator[Fix]:
    start = located.start + tag.span.start
    if tag.unclosed:
        yield from _unclosed(source, problem, located, tag)
        return
    if problem.message.endswith(_CALLED) and source.slice(problem.span).replace(".", "").isidentifier():
        place = Span(problem.span.end, problem.span.end)
        yield Fix("Insert `()`", (Edit(place, "()"),), preferred=True)
        return
    written = in_jinja(tag, start) if tag.kind in {"output", "statement"} else None
    if written is not None:
        yield written
        return
    bracket = _BRACKET.match(problem.message)
    if bracket:
        end = start + tag.inner_start + len(tag.text[tag.inner_start : tag.inner_end].rstrip())
        yield Fix(f"Insert `{bracket[1]}`", (Edit(Span(end, end), bracket[1]),))
    if tag.kind == "statement":
        yield from _of_statement(source, problem, located, tag)


def _unclosed(source: Source, problem: SyntaxProblem, located: Located, tag: Tag) -> Iterator[Fix]:
    if tag.unclosed in {"}}", "%}"}:
        yield _closed(tag, located.start + tag.span.start)
    elif tag.unclosed == "#}":
        end = located.start + line_end(located.chunk.text, tag.span.end)
        yield Fix("Close the comment at the end of its line", (Edit(Span(end, end), " #}"),))
    elif tag.kind == "raw":
        yield from _ended(source, problem, located, tag, "raw")


def _of_statement(source: Source, problem: SyntaxProblem, located: Located, tag: Tag) -> Iterator[Fix]:
    start = located.start + tag.span.start
    statement = tag_tree(tag).statement
    keyword = statement.keyword
    wrong_end = _WRONG_END.match(problem.message)
    named_end = _NAMED_END.match(problem.message)
    if named_end:
        title = f"Change to `{named_end[1]}`"
        yield Fix(title, (Edit(problem.span, named_end[1]),), preferred=True)
    elif wrong_end:
        title = f"Change to `{wrong_end.group(1)}`"
        yield Fix(title, (Edit(problem.span, wrong_end.group(1)),), preferred=True)
    elif keyword and keyword not in KEYWORDS:
        yield from _known_tag(problem, tag, statement.keyword_span, start)
    elif len(problem.related) == len(("this", "and this")):
        yield from _swapped(source, problem)
    elif statement.opens_block and "expected `end" in problem.message:
        yield from _ended(source, problem, located, tag, keyword)
    elif "closes nothing" in problem.message or "without an open" in problem.message:
        removal = removed_tag(located, tag.span.start)
        if removal:
            yield Fix("Remove this tag", (removal,))


def _known_tag(problem: SyntaxProblem, tag: Tag, keyword: Span, start: int) -> Iterator[Fix]:
    """The tag that an unknown one probably stands for; of `end if`, both words are changed."""
    meant = _MEANT.search(problem.message)
    if meant:
        is_end = tag.text[keyword.start : keyword.end] == "end"
        word = meant[1].removeprefix("end")
        end = tag.text.index(word, keyword.end) + len(word) if is_end else keyword.end
        edit = Edit(Span(keyword.start, end).shifted(start), meant[1])
        yield Fix(f"Change to `{meant[1]}`", (edit,), preferred=keyword.end - keyword.start > _SHORT)


def _closed(tag: Tag, start: int) -> Fix:
    """The delimiter that is missing, in place of a wrong one or behind the tag."""
    end = start + len(tag.text)
    if tag.text[2:].endswith("}}") and tag.unclosed == "}}":
        return Fix("Insert `}`", (Edit(Span(end - 2, end - 2), "}"),))
    if tag.text[2:].endswith(("}}", "%}")):
        wrong = tag.text[-2:]
        edit = Edit(Span(end - 2, end), tag.unclosed)
        return Fix(f"Change `{wrong}` to `{tag.unclosed}`", (edit,), preferred=True)
    lone = _LONE_BRACE.match(tag.text)
    if lone and tag.unclosed == "}}":
        place = Span(start + lone.end(), start + lone.end())
        return Fix("Insert `}`", (Edit(place, "}"),), preferred=True)
    if lone and tag.unclosed == "%}":
        place = Span(start + lone.end() - 1, start + lone.end())
        return Fix("Change `}` to `%}`", (Edit(place, "%}"),), preferred=True)
    missing = tag.unclosed[1:] if tag.text.endswith(tag.unclosed[0]) and len(tag.text) > 2 else tag.unclosed  # noqa: PLR2004 - an opening delimiter
    space = "" if tag.text[-1:] in {" ", tag.unclosed[0]} else " "
    return Fix(f"Insert `{missing}`", (Edit(Span(end, end), space + missing),))


def _swapped(source: Source, problem: SyntaxProblem) -> Iterator[Fix]:
    """The two end tags that stand in the wrong order, each in the other's place."""
    tags = []
    for each in problem.related:
        located = source.located(each.span.start)
        number = tag_at(located.chunk, each.span.start - located.start)
        if number is None:
            return
        tag = located.chunk.tags[number]
        tags.append((tag.span.shifted(located.start), tag.text))
    (first, one), (second, other) = tags
    yield Fix("Swap the two end tags", (Edit(first, other), Edit(second, one)), preferred=True)


def _ended(source: Source, problem: SyntaxProblem, located: Located, tag: Tag, keyword: str) -> Iterator[Fix]:
    """The end tag that is missing: ahead of the tag that closes too much, or behind the block's lines."""
    written = f"{{% end{keyword} %}}"
    title = f"Insert `{written}`"
    if problem.related:
        place = problem.related[0].span.start
        closing = source.located(place)
        number = tag_at(closing.chunk, place - closing.start)
        if number is not None:
            at = closing.start + closing.chunk.tags[number].span.start
            before = source.line_span(source.place(at).line).start
            lead = source.slice(Span(before, at))
            text = f"{written}\n{lead}" if not lead.strip() else written
            yield Fix(title, (Edit(Span(at, at), text),))
        return
    start = located.start + tag.span.start
    line = source.place(start).line
    end = source.line_span(source.place(start + len(tag.text)).line).end
    lead = source.slice(Span(source.line_span(line).start, start))
    behind = source.slice(Span(start + len(tag.text), end)).rstrip()
    if lead.strip() or behind:
        quote = lead[-1:] if lead[-1:] in {"'", '"'} and behind.endswith(lead[-1:]) else ""
        end = start + len(tag.text) + len(behind) - len(quote) if quote else end
        yield Fix(title, (Edit(Span(end, end), written),))
        return
    end = _end_of_body(source, line, len(lead), end)
    yield Fix(title, (Edit(Span(end, end), f"\n{lead}{written}"),))


def _end_of_body(source: Source, line: int, indent: int, end: int) -> int:
    """Where the last line ends behind `line` that is indented at least as far; the text's end at the edge."""
    last = end
    for number in range(line + 1, source.place(len(source)).line + 1):
        text = source.line(number)
        if not text.strip():
            continue
        if len(text) - len(text.lstrip(" ")) < indent:
            break
        last = source.line_span(number).end
    return last
