"""Rewrite what other languages write in tags, such as `&&` and `a ? b : c`, in the syntax of Jinja."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from typing import Final

from promptls.lint.rule import Edit, Fix, apply_edits
from promptls.syntax.jinja.builtins import FILTERS, KEYWORDS
from promptls.syntax.jinja.scanner import Tag, jinja_problem
from promptls.syntax.jinja.statements import parse_tag
from promptls.syntax.jinja.tag_tokens import NO_VARIABLES, Token, tokenize
from promptls.text.positions import Span

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
_WORDED: Final = {
    "eq": "==",
    "ge": ">=",
    "gt": ">",
    "gte": ">=",
    "le": "<=",
    "lt": "<",
    "lte": "<=",
    "ne": "!=",
}
"""Comparisons that other languages for templates write as words."""
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
    written = apply_edits(tag.text, edits)
    statement = parse_tag(written, tag.inner_start, tag.inner_end + len(written) - len(tag.text)).statement
    if jinja_problem(written, statement.keyword, opens_block=statement.opens_block):
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


def _operators(tag: Tag, tokens: list[Token]) -> list[Edit]:
    """Return the replacements of single operators, in order and without overlaps."""
    found: dict[int, Edit] = {}
    readers: tuple[Callable[[Tag, list[Token]], Iterator[Edit]], ...] = (
        _assigned,
        _paired,
        _worded,
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
        if written == "or" and tokens[tokens.index(second) + 1].text in NO_VARIABLES:
            yield Edit(Span(first.start, second.end), "|")
        elif written.isalpha():
            yield _word_for(tag, first.start, second.end, written)
        elif written != "." or tokens[tokens.index(second) + 1].kind == "name":
            yield Edit(Span(first.start, second.end), written)


def _worded(_tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """Yield the fix of a comparison in a word between two values, as in `count gt 0`."""
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_value = before.text in _CLOSING or (before.kind in _VALUES and before.text not in _NO_VALUES)
        if token.text in _WORDED and is_value and after.kind in _VALUES:
            yield Edit(token.span, _WORDED[token.text])


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
                yield Edit(token.span, "not ")
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
            yield Edit(token.span, "==")


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
        yield Edit.insert(name.start, "set ")
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
        yield Edit.insert(tokens[1].end, ",")
    if "of" in texts and "in" not in texts:
        of = tokens[texts.index("of")]
        yield Edit(of.span, "in")


def _quoted(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """Yield straight quotes for typographic quotes and backticks, and remove invisible characters."""
    if "${" in tag.text:
        return
    for token in tokens:
        if token.kind == "unknown" and not token.text.isprintable():
            yield Edit(token.span, "")
        quote = _QUOTES.get(token.text) if token.kind == "unknown" else None
        if quote and quote not in tag.text:
            yield Edit(token.span, quote)


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
