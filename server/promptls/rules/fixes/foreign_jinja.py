"""What a tag in the signs of another language would be in Jinja: `and` for `&&`, `a if b else c` for `b ? a : c`.

Signs are changed all together, and what comes of it is offered only where jinja2 takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from typing import Final

from promptls.rules.rule import Edit, Fix
from promptls.syntax.jinja.keywords import KEYWORDS
from promptls.syntax.jinja.statements import parse_tag
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.jinja.tokens import Token, tokenize
from promptls.syntax.jinja.verdict import jinja_objection
from promptls.text.span import Span

_PAIRS: Final = {
    ("&", "&"): "and",
    ("|", "|"): "or",
    ("==", "="): "==",
    ("!=", "="): "!=",
    ("<", ">"): "!=",
    ("-", ">"): ".",
    (":", "="): "=",
}
"""Two tokens side by side, and what Jinja writes for them."""
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "//", "%", "~"})
_STEPS: Final = frozenset({"+", "-", "*", "/", "~"})
_OPENING: Final = frozenset({"(", "[", "{"})
_CLOSING: Final = frozenset({")", "]", "}"})
_QUOTES: Final = {"“": '"', "”": '"', "`": '"', "‘": "'", "’": "'"}  # noqa: RUF001 - the signs that are meant


def in_jinja(tag: Tag, start: int) -> Fix | None:
    """The fix that writes a tag as Jinja does; None where what is meant is not certain.

    `start` is where the tag stands in the file.
    """
    tokens = tokenize(tag.text, tag.inner_start, tag.inner_end)
    edits = next(filter(None, (_ternary(tag, tokens), _signs(tag, tokens))), [])
    if not edits:
        return None
    written = _applied(tag.text, edits)
    statement = parse_tag(written, tag.inner_start, tag.inner_end + len(written) - len(tag.text)).statement
    if jinja_objection(written, statement.keyword, opens_block=statement.opens_block):
        return None
    if len(edits) == 1 and edits[0].text.strip():
        old, new = tag.text[edits[0].span.start : edits[0].span.end], edits[0].text
        title = f"Change `{old.strip()}` to `{new.strip()}`" if old.strip() else f"Change to `{written}`"
    elif len(edits) == 1:
        title = f"Remove `{tag.text[edits[0].span.start : edits[0].span.end].strip()}`"
    else:
        title = f"Change to `{written}`"
    return Fix(title, tuple(Edit(edit.span.shifted(start), edit.text) for edit in edits), preferred=True)


def _applied(text: str, edits: list[Edit]) -> str:
    for edit in reversed(edits):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def _signs(tag: Tag, tokens: list[Token]) -> list[Edit]:
    """The changes of single signs, in order; none of them overlap."""
    found: dict[int, Edit] = {}
    readers: tuple[Callable[[Tag, list[Token]], Iterator[Edit]], ...] = (
        _assigned,
        _paired,
        _negated,
        _compared,
        _framed,
        _looped,
        _quoted,
    )
    for edit in chain.from_iterable(read(tag, tokens) for read in readers):
        found.setdefault(edit.span.start, edit)
    edits = [found[place] for place in sorted(found)]
    return [
        edit
        for number, edit in enumerate(edits)
        if not number or edit.span.start >= edits[number - 1].span.end
    ]


def _word(tag: Tag, start: int, end: int, word: str) -> Edit:
    """A word in place of signs, with spaces around it."""
    before = " " if tag.text[start - 1 : start].strip() else ""
    behind = " " if tag.text[end : end + 1].strip() else ""
    return Edit(Span(start, end), f"{before}{word}{behind}")


def _paired(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    for first, second in pairwise(tokens):
        written = _PAIRS.get((first.text, second.text))
        if written is None or first.end != second.start or "string" in {first.kind, second.kind}:
            continue
        if written.isalpha():
            yield _word(tag, first.start, second.end, written)
        elif written != "." or tokens[tokens.index(second) + 1].kind == "name":
            yield Edit(Span(first.start, second.end), written)


def _negated(_tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """`!` in front of a value; in front of a comparison it would deny less than `not` does."""
    for number, token in enumerate(tokens):
        if token.kind != "unknown" or token.text != "!" or tokens[number + 1].start != token.end:
            continue
        before = tokens[number - 1] if number else None
        if before is not None and before.end == token.start and before.text not in {*_OPENING, ",", "&", "|"}:
            continue  # in other languages, a sign behind a value says something of that value
        depth = 0
        for behind in tokens[number + 1 :]:
            depth += (behind.text in _OPENING) - (behind.text in _CLOSING)
            if depth < 0 or (not depth and behind.text in {"and", "or", "&", "|", "if", "else", ",", ""}):
                yield Edit(Span(token.start, token.end), "not ")
                break
            if not depth and behind.text in _COMPARISONS:
                break


def _compared(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """A single `=` in a condition, outside of brackets."""
    if tokens[0].text not in {"if", "elif"}:
        return
    depth = 0
    for before, token, behind in zip(tokens, tokens[1:], tokens[2:], strict=False):
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        is_alone = before.text not in {"==", "!=", "<", ">", ":"} and behind.text not in {"=", ">", "<"}
        if token.text == "=" and not depth and is_alone:
            yield Edit(Span(token.start, token.end), "==")


def _assigned(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """`set x++`, `set x += 1` and `x = 1`, which lacks its `set`."""
    has_set = tokens[0].text == "set"
    if tag.kind != "statement" or (tokens[0].text in KEYWORDS and not has_set):
        return
    name, *behind = tokens[1:] if has_set else tokens
    texts = [token.text for token in behind]
    if name.kind != "name" or not behind:
        return
    is_count = texts[:2] in (["+", "+"], ["-", "-"])
    is_step = texts[1:2] == ["="] and texts[0] in _STEPS and behind[0].end == behind[1].start
    if not has_set and (texts[0] == "=" or is_step or is_count):
        yield Edit(Span(name.start, name.start), "set ")
    if is_count and len(texts) <= len(["+", "+", ";", ""]):
        yield Edit(Span(name.end, behind[1].end), f" = {name.text} {texts[0]} 1")
    elif is_step:
        yield Edit(Span(behind[0].start, behind[1].end), f"= {name.text} {texts[0]}")


def _framed(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """What other languages write around a statement: `else if`, `;`, and `{` or `then` behind a condition."""
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


def _looped(_tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """`for x of y` and `for (x in y)`."""
    if tokens[0].text != "for":
        return
    texts = [token.text for token in tokens]
    if texts[1] == "(" and texts[-2] == ")" and "in" in texts[: texts.index(")")]:
        yield Edit(Span(tokens[1].start, tokens[1].end), "")
        yield Edit(Span(tokens[-2].start, tokens[-2].end), "")
    if "of" in texts and "in" not in texts:
        of = tokens[texts.index("of")]
        yield Edit(Span(of.start, of.end), "in")


def _quoted(tag: Tag, tokens: list[Token]) -> Iterator[Edit]:
    """Straight quotes for typographic ones and for backticks."""
    if "${" in tag.text:
        return
    for token in tokens:
        quote = _QUOTES.get(token.text) if token.kind == "unknown" else None
        if quote and quote not in tag.text:
            yield Edit(Span(token.start, token.end), quote)


def _ternary(tag: Tag, tokens: list[Token]) -> list[Edit]:
    """`a ? b : c` as `b if a else c`, where it is the whole of a printed or set value."""
    texts = [token.text for token in tokens]
    if texts.count("?") != 1:
        return []
    begin = texts.index("=") + 1 if texts[0] == "set" and "=" in texts[: texts.index("?")] else 0
    mark, depth, colons = texts.index("?"), 0, []
    for number, token in enumerate(tokens):
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if token.text == ":" and not depth and number > mark:
            colons.append(number)
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
