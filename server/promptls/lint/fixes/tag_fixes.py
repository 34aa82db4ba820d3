"""Fixes of Jinja errors: missing or misspelled delimiters, end tags and keywords."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from typing import Final

from promptls.lint.rule import Edit, Fix
from promptls.semantic.parts import chunk_contents
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, Located
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.builtins import FILTERS, KEYWORDS
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag, jinja_objection
from promptls.syntax.jinja.statements import parse_tag
from promptls.syntax.jinja.tag_tokens import Token, tokenize
from promptls.syntax.problem import SyntaxProblem
from promptls.syntax.source import Source
from promptls.text.positions import Span, line_column, line_end
from promptls.text.suggest import is_typo


def tag_at(chunk: Chunk, offset: int) -> int | None:
    """Return the index of the chunk's tag that contains `offset`, or None."""
    tag_index = bisect_right(chunk.tags, offset, key=lambda tag: tag.span.start) - 1
    return tag_index if tag_index >= 0 and offset < chunk.tags[tag_index].span.end else None


def removed_tag(located: Located, offset: int) -> Edit | None:
    """Return an edit, relative to the chunk's start, that removes the tag at `offset` and the block it opens.

    Return None if there is no tag, or if its block does not end in the same chunk.
    """
    span = block_span(located.chunk, offset)
    return Edit(whole_lines(located.chunk, span).shifted(located.start), "") if span is not None else None


def block_span(chunk: Chunk, offset: int) -> Span | None:
    """Return the span of the tag at `offset` with its block; None if the block ends outside of the chunk."""
    tag_index = tag_at(chunk, offset)
    if tag_index is None:
        return None
    tag = chunk.tags[tag_index]
    end = tag.span.end
    if _opens_block(tag):
        closing = next(
            (pair.closing for pair in chunk_blocks(chunk).pairs if pair.opening == tag_index), None
        )
        if closing is None:
            return None
        end = chunk.tags[closing].span.end
    return Span(tag.span.start, end)


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


_PAIRS: Final = {
    ("&", "&"): "and",
    ("|", "|"): "or",
    ("==", "="): "==",
    ("!=", "="): "!=",
    ("<", ">"): "!=",
    ("-", ">"): ".",
    (":", "="): "=",
}
"""Pairs of adjacent tokens, and their equivalent in Jinja."""
_NO_NAMES: Final = frozenset(
    {
        "default",
        "escape",
        "indent",
        "int",
        "join",
        "lower",
        "safe",
        "string",
        "striptags",
        "tojson",
        "trim",
        "upper",
    }
)
"""Filters whose names are no names of variables."""
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "//", "%", "~"})
_STEPS: Final = frozenset({"+", "-", "*", "/", "~"})
_OPENING: Final = frozenset({"(", "[", "{"})
_CLOSING: Final = frozenset({")", "]", "}"})
_QUOTES: Final = {"“": '"', "”": '"', "`": '"', "‘": "'", "’": "'"}  # noqa: RUF001 - the signs that are meant


_MAX_TOKENS: Final = 1000


def in_jinja(tag: Tag, start: int) -> Fix | None:
    """Return the fix that rewrites a tag in Jinja's syntax; None if the intended meaning is not certain.

    `start` is the offset of the tag in the file. Very long tags get no fix.
    """
    tokens = tokenize(tag.text, tag.inner_start, tag.inner_end)
    if len(tokens) > _MAX_TOKENS:
        return None
    edits = next(filter(None, (_ternary(tag, tokens), _operators(tag, tokens))), [])
    if not edits:
        return None
    written = _apply(tag.text, edits)
    statement = parse_tag(written, tag.inner_start, tag.inner_end + len(written) - len(tag.text)).statement
    if jinja_objection(written, statement.keyword, opens_block=statement.opens_block):
        return None
    if len(edits) == 1 and edits[0].text.strip():
        old, new = tag.text[edits[0].span.start : edits[0].span.end], edits[0].text
        title = f"Change `{old.strip()}` to `{new.strip()}`" if old.strip() else f"Change to `{written}`"
    elif len(edits) == 1:
        removed = tag.text[edits[0].span.start : edits[0].span.end].strip()
        title = f"Remove `{removed}`" if removed.isprintable() else "Remove the invisible character"
    else:
        title = f"Change to `{written}`"
    return Fix(title, tuple(Edit(edit.span.shifted(start), edit.text) for edit in edits), preferred=True)


def _apply(text: str, edits: list[Edit]) -> str:
    for edit in reversed(edits):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def _operators(tag: Tag, tokens: list[Token]) -> list[Edit]:
    """Return the replacements of single operators, in order and without overlaps."""
    found: dict[int, Edit] = {}
    readers: tuple[Callable[[Tag, list[Token]], Iterator[Edit]], ...] = (
        _assigned,
        _paired,
        _negated,
        _compared,
        _foreign_framing,
        _foreign_loops,
        _quoted,
        _compared_by_test,
        _filter_arguments,
        _keyword_colons,
    )
    for edit in chain.from_iterable(read(tag, tokens) for read in readers):
        found.setdefault(edit.span.start, edit)
    edits = [found[place] for place in sorted(found)]
    return [
        edit for index, edit in enumerate(edits) if not index or edit.span.start >= edits[index - 1].span.end
    ]


def _word_for(tag: Tag, start: int, end: int, word: str) -> Edit:
    """Return a replacement of an operator with a word, with spaces around it where needed."""
    before = " " if tag.text[start - 1 : start].strip() else ""
    after = " " if tag.text[end : end + 1].strip() else ""
    return Edit(Span(start, end), f"{before}{word}{after}")


def _paired(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    for first, second in pairwise(tokens):
        written = _PAIRS.get((first.text, second.text))
        if written is None or first.end != second.start or "string" in {first.kind, second.kind}:
            continue
        if written == "or" and tokens[tokens.index(second) + 1].text in _NO_NAMES:
            yield Edit(Span(first.start, second.end), "|")
        elif written.isalpha():
            yield _word_for(tag, first.start, second.end, written)
        elif written != "." or tokens[tokens.index(second) + 1].kind == "name":
            yield Edit(Span(first.start, second.end), written)


def _negated(_tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """Yield the fix of `!` before a value; before a comparison, `not` would negate more than `!` does."""
    for index, token in enumerate(tokens):
        if token.kind != "unknown" or token.text != "!" or tokens[index + 1].start != token.end:
            continue
        before = tokens[index - 1] if index else None
        if before is not None and before.end == token.start and before.text not in {*_OPENING, ",", "&", "|"}:
            continue  # a postfix operator of another language
        depth = 0
        for after in tokens[index + 1 :]:
            depth += (after.text in _OPENING) - (after.text in _CLOSING)
            if depth < 0 or (not depth and after.text in {"and", "or", "&", "|", "if", "else", ",", ""}):
                yield Edit(Span(token.start, token.end), "not ")
                break
            if not depth and after.text in _COMPARISONS:
                break


def _compared(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """Yield the fix of a single `=` in a condition, outside of brackets."""
    if tokens[0].text not in {"if", "elif"}:
        return
    depth = 0
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        is_alone = before.text not in {"==", "!=", "<", ">", ":"} and after.text not in {"=", ">", "<"}
        if token.text == "=" and not depth and is_alone:
            yield Edit(Span(token.start, token.end), "==")


def _assigned(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """Yield the fixes of `set x++`, `set x += 1`, and `x = 1` without `set`."""
    has_set = tokens[0].text == "set"
    if tag.kind != "statement" or (tokens[0].text in KEYWORDS and not has_set):
        return
    name, *after = tokens[1:] if has_set else tokens
    texts = [token.text for token in after]
    if name.kind != "name" or not after:
        return
    is_count = texts[:2] in (["+", "+"], ["-", "-"])
    is_step = texts[1:2] == ["="] and texts[0] in _STEPS and after[0].end == after[1].start
    if not has_set and (texts[0] == "=" or is_step or is_count):
        yield Edit(Span(name.start, name.start), "set ")
    if has_set and texts[0] == "==":
        yield Edit(Span(after[0].start, after[0].end), "=")
    if is_count and len(texts) <= len(["+", "+", ";", ""]):
        yield Edit(Span(name.end, after[1].end), f" = {name.text} {texts[0]} 1")
    elif is_step:
        yield Edit(Span(after[0].start, after[1].end), f"= {name.text} {texts[0]}")


def _foreign_framing(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """Yield the fixes of foreign syntax around a statement: `else if`, `;`, `{` or `then`."""
    if len(tokens) < len(["name", ";", ""]):
        return
    if tokens[0].text == "else" and tokens[1].text == "if":
        yield Edit(Span(tokens[0].start, tokens[1].end), "elif")
    last = tokens[-2]
    is_head = tokens[0].text in {"if", "elif", "else", "for"}
    if (
        last.text == ";"
        or (is_head and last.text == "{")
        or (tokens[0].text != "for" and last.text == "then")
    ):
        start = len(tag.text[: last.start].rstrip())
        yield Edit(Span(start, last.end), "")


def _foreign_loops(_tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """Yield the fixes of `for x of y` and `for (x in y)`."""
    if tokens[0].text != "for":
        return
    texts = [token.text for token in tokens]
    if texts[1] == "(" and texts[-2] == ")" and "in" in texts[: texts.index(")")]:
        yield Edit(Span(tokens[1].start, tokens[1].end), "")
        yield Edit(Span(tokens[-2].start, tokens[-2].end), "")
    is_pair = [token.kind for token in tokens[1:3]] == ["name", "name"] and texts[3:4] == ["in"]
    if is_pair and "in" not in texts[1:3]:
        yield Edit(Span(tokens[1].end, tokens[1].end), ",")
    if "of" in texts and "in" not in texts:
        of = tokens[texts.index("of")]
        yield Edit(Span(of.start, of.end), "in")


def _quoted(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """Yield straight quotes for typographic quotes and backticks, and remove invisible characters."""
    if "${" in tag.text:
        return
    for token in tokens:
        if token.kind == "unknown" and not token.text.isprintable():
            yield Edit(Span(token.start, token.end), "")
        quote = _QUOTES.get(token.text) if token.kind == "unknown" else None
        if quote and quote not in tag.text:
            yield Edit(Span(token.start, token.end), quote)


def _compared_by_test(_tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """Yield the comparison for `is "text"` and `is not "text"`."""
    for index, token in enumerate(tokens):
        if token.text != "is" or not index or tokens[index - 1].kind not in {"name", "operator"}:
            continue
        is_negated = tokens[index + 1].text == "not"
        if tokens[index + 1 + is_negated].kind == "string":
            yield Edit(Span(token.start, tokens[index + is_negated].end), "!=" if is_negated else "==")


def _keyword_colons(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """Yield `=` for the colons of arguments: `f(name: x)`."""
    opened: list[bool] = []
    for index, token in enumerate(tokens):
        if token.text == "(":
            opened.append(index > 0 and tokens[index - 1].kind == "name")
        elif token.text in _OPENING:
            opened.append(False)
        elif token.text in _CLOSING and opened:
            opened.pop()
        elif token.text == ":" and opened[-1:] == [True] and tokens[index - 1].kind == "name":
            end = token.end + (tag.text[token.end : token.end + 1] == " ")
            if tokens[index - 2].text in {"(", ","}:
                yield Edit(Span(token.start, end), "=")


_NO_VALUES: Final = frozenset({"and", "or", "not", "in", "is", "if", "else", "recursive"})
_VALUES: Final = frozenset({"string", "integer", "float", "name"})


def _filter_arguments(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """Yield the parentheses of filters with arguments as in Django and Liquid: `default:"a"`, `indent 4`."""
    for index, token in enumerate(tokens[:-1]):
        is_filter = index and (tokens[index - 1].text == "|" or (index == 1 and tokens[0].text == "filter"))
        if not is_filter or token.text not in FILTERS:
            continue
        has_colon = tokens[index + 1].text == ":"
        first = index + 1 + has_colon
        last = first
        while tokens[last].kind in _VALUES and tokens[last].text not in _NO_VALUES:
            last += 1
            while tokens[last].text == "." and tokens[last + 1].kind == "name":
                last += 2
            if tokens[last].text != ",":
                break
            last += 1
        if last > first and tokens[last].text in {"", "|", ")", *_NO_VALUES}:
            arguments = tag.text[tokens[first].start : tokens[last - 1].end]
            yield Edit(Span(token.end, tokens[last - 1].end), f"({arguments})")


def _ternary(tag: Tag, tokens: list[Token]) -> list[Edit]:
    """Rewrite `a ? b : c` as `b if a else c`, if it is the whole value that is printed or set."""
    texts = [token.text for token in tokens]
    if texts.count("?") != 1:
        return []
    begin = texts.index("=") + 1 if texts[0] == "set" and "=" in texts[: texts.index("?")] else 0
    mark, depth, colons = texts.index("?"), 0, []
    for index, token in enumerate(tokens):
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if token.text == ":" and not depth and index > mark:
            colons.append(index)
        if token.text == "?" and depth:
            return []
    if (tag.kind != "output" and not begin) or len(colons) != 1:
        return []
    colon = colons[0]
    pieces = [
        tag.text[tokens[first].start : tokens[last - 1].end]
        for first, last in ((begin, mark), (mark + 1, colon), (colon + 1, len(tokens) - 1))
        if last > first
    ]
    if len(pieces) != len(["test", "then", "else"]):
        return []
    test, then, otherwise = pieces
    span = Span(tokens[begin].start, tokens[-2].end)
    return [Edit(span, f"{then} if {test} else {otherwise}")]


_WRONG_END: Final = re.compile(r"expected `(end\w+)` instead of")
_NAMED_END: Final = re.compile(r"this ends the block `(\w+)`")
_CALLED: Final = "expected its `()`"
_BRACKET: Final = re.compile(r"expected `([)\]}])` to close .* found the end of the tag")
_MEANT: Final = re.compile(r"did you mean `(\w+)`")
_LONE_BRACE: Final = re.compile(r"\{[{%][^{}'\"]*\}")
"""A tag that is closed by only one brace."""
_SHORT: Final = 2
"""A word of this many letters resembles too many keywords."""


_MISPLACED: Final = re.compile(r"`elif` in a `\w+` block")
_REMOVE: Final = "Remove this tag"


def jinja_fixes(template: Template, problem: SyntaxProblem) -> tuple[Fix, ...]:
    """Return the fixes for a Jinja error of the file; none if the intended meaning is unclear."""
    located = template.source.located(problem.span.start)
    tag_index = tag_at(located.chunk, problem.span.start - located.start)
    if tag_index is None:
        return ()
    tag = located.chunk.tags[tag_index]
    place = tag.span.shifted(located.start)
    if any(
        _MISPLACED.match(each.message) and place.contains(each.span.start)
        for each in template.syntax_problems
    ):
        return ()  # what belongs in this place is unknown
    # A tag that closes nothing may close what an earlier broken tag opens, or what is in an unclosed comment.
    is_first = all(
        each.language != "jinja" or each.span.start >= problem.span.start for each in template.syntax_problems
    )
    is_first &= not any(
        each.kind == "comment" and "{#" in each.text[2:]
        for piece in template.source.root.placed()
        for each in piece.chunk.tags
    )
    found = _fixes(template.source, problem, located, tag)
    return tuple(fix for fix in found if is_first or fix.title != _REMOVE)


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
    if _HANDLEBARS_END.fullmatch(tag.text):
        edit = Edit(tag.span.shifted(located.start), "{% endif %}")
        yield Fix("Change to `{% endif %}`", (edit,), preferred=True)
        return
    if tag.kind == "output" and _LOOP_HEAD.fullmatch(tag.text):
        meant = f"{{%{tag.text[2:-2]}%}}"
        yield Fix(f"Change to `{meant}`", (Edit(tag.span.shifted(located.start), meant),), preferred=True)
        return
    opening = _HANDLEBARS_IF.fullmatch(tag.text)
    if opening is not None:
        meant = f"{{% if {opening[1]} %}}"
        yield Fix(f"Change to `{meant}`", (Edit(tag.span.shifted(located.start), meant),))
        return
    if _TRIPLED.fullmatch(tag.text):
        meant = tag.text[1:-1]
        yield Fix(f"Change to `{meant}`", (Edit(tag.span.shifted(located.start), meant),), preferred=True)
        return
    bracket = _BRACKET.match(problem.message)
    if bracket:
        end = start + tag.inner_start + len(tag.text[tag.inner_start : tag.inner_end].rstrip())
        yield Fix(f"Insert `{bracket[1]}`", (Edit(Span(end, end), bracket[1]),))
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
        yield Fix("Close the comment at the end of its line", (Edit(Span(end, end), " #}"),))
    elif tag.kind == "raw":
        start = located.start + tag.span.start
        tags = _END_OF_RAW.finditer(source.text, start)
        misspelled = next((each for each in tags if is_typo(each[1], "endraw")), None)
        if misspelled is not None:
            yield Fix("Change to `endraw`", (Edit(Span(*misspelled.span(1)), "endraw"),), preferred=True)
            return
        yield from _missing_end(source, problem, located, tag, "raw")


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
        meant = _for_open_block(located.chunk, tag, keyword)
        if meant is not None:
            edit = Edit(statement.keyword_span.shifted(start), meant)
            yield Fix(f"Change to `{meant}`", (edit,), preferred=True)
        else:
            yield from _known_keyword(problem, tag, statement.keyword_span, start)
    elif len(problem.related) == len(("this", "and this")):
        yield from _swapped(source, problem)
    elif statement.opens_block and "expected `end" in problem.message:
        yield from _missing_end(source, problem, located, tag, keyword)
    elif "closes nothing" in problem.message or "without an open" in problem.message:
        opening = _split_opening(source, keyword, start)
        removal = removed_tag(located, tag.span.start)
        if opening is not None:
            yield Fix("Change `{ %` to `{%`", (Edit(opening, "{%"),), preferred=True)
        elif removal:
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


def _split_opening(source: Source, keyword: str, end: int) -> Span | None:
    """Return the last `{ %` before an end tag that would open its block, if there is one."""
    opened = keyword.removeprefix("end") if keyword.startswith("end") else "if"
    found = list(re.finditer(rf"\{{[ ]+%(?=[-+]?\s*{re.escape(opened)}\b)", source.slice(Span(0, end))))
    return Span(*found[-1].span()) if found else None


def _known_keyword(problem: SyntaxProblem, tag: Tag, keyword: Span, start: int) -> Iterator[Fix]:
    """Yield the likely keyword for an unknown one; for `end if`, both words are replaced."""
    meant = _MEANT.search(problem.message)
    if meant:
        is_end = tag.text[keyword.start : keyword.end] == "end"
        word = meant[1].removeprefix("end")
        end = tag.text.index(word, keyword.end) + len(word) if is_end else keyword.end
        edit = Edit(Span(keyword.start, end).shifted(start), meant[1])
        yield Fix(f"Change to `{meant[1]}`", (edit,), preferred=keyword.end - keyword.start > _SHORT)


def _closed(tag: Tag, start: int) -> Fix:
    """Return the missing delimiter, in place of a wrong one or after the tag."""
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
        following = tag.text[lone.end() :]
        if following.lstrip(" ").startswith("}"):
            blank = Span(place.start, place.start + len(following) - len(following.lstrip(" ")))
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
    return Fix(f"Insert `{missing}`", (Edit(Span(end, end), space + missing),))


def _swapped(source: Source, problem: SyntaxProblem) -> Iterator[Fix]:
    """Swap two end tags that are in the wrong order."""
    tags = []
    for each in problem.related:
        located = source.located(each.span.start)
        tag_index = tag_at(located.chunk, each.span.start - located.start)
        if tag_index is None:
            return
        tag = located.chunk.tags[tag_index]
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
    if any(
        each.kind == "statement" and tag_tree(each).statement.keyword in _FOREIGN_ENDS
        for each in located.chunk.tags
    ):
        return  # that tag ends the block
    start = located.start + tag.span.start + len(tag.text)
    on_line = source.slice(Span(start, source.line_span(source.line_column(start).line).end))
    if problem.related and not (keyword == "set" and on_line.strip()):
        place = problem.related[0].span.start
        closing = source.located(place)
        tag_index = tag_at(closing.chunk, place - closing.start)
        if tag_index is not None:
            at = closing.start + closing.chunk.tags[tag_index].span.start
            before = source.line_span(source.line_column(at).line).start
            lead = source.slice(Span(before, at))
            text = f"{written}\n{lead}" if not lead.strip() else written
            yield Fix(title, (Edit(Span(at, at), text),))
        return
    start = located.start + tag.span.start
    line = source.line_column(start).line
    end = source.line_span(source.line_column(start + len(tag.text)).line).end
    lead = source.slice(Span(source.line_span(line).start, start))
    after = source.slice(Span(start + len(tag.text), end)).rstrip()
    if lead.strip() or after:
        quote = lead[-1:] if lead[-1:] in {"'", '"'} and after.endswith(lead[-1:]) else ""
        end = start + len(tag.text) + len(after) - len(quote) if quote else end
        yield Fix(title, (Edit(Span(end, end), written),))
        return
    end = _end_of_body(source, line, len(lead), end)
    if not lead:
        end = _end_in_first_column(source, located, tag, end)
    yield Fix(title, (Edit(Span(end, end), f"\n{lead}{written}"),))


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
        if content.value.span.start <= tag.span.start < content.value.span.end:
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
        if len(text) - len(text.lstrip(" ")) < indent:
            break
        last = source.line_span(line_index).end
    return last
