"""Condition or option that has no effect.

Reports

- an `elif` with the condition of an earlier branch, alone or with `and`, or with one of its alternatives; a hint if the condition calls a function;
- an `elif` that prints the condition of an earlier branch instead of its own;
- an operand that the same `and` or `or` already has;
- a text or a list as a condition, or beside `and` or `or` in one, as in `tone == "formal" or "casual"`, and `not none`;
- a constant beside `and` or `or` in a condition that decides it, as in `false and urgent`;
- a comparison of two constants, a list in quotes after `in`, and as a hint, `==` with a list of texts;
- an `else`, if all branches print the same, and as a hint, an `elif` that prints the same as the branch before it;
- comparisons that are never or always true together, as in `tone != "formal" or tone != "casual"` and
  `notes is not defined and notes`, and with capitals after `lower`, as in `tone | lower == "Formal"`;
- a text in parentheses after `in`, as in `tone in ("formal")`, which is no tuple without a comma, and a
  condition with a comma outside of parentheses, which is a tuple and always true;
- a text that occurs twice in a list after `in` or in the keys of a mapping;
- as a hint, a filter such as `trim` or `tojson` that is applied to its own result;
- a `default` after a filter that always returns a text or a list, as in `name | trim | default("you")`;
- a variable or attribute that is printed or looped over where its own condition says that it is empty, as in
  `{% if not notes %}{{ notes }}{% endif %}`, and as a hint, in the `else` of `{% if notes %}`;
- a comparison in place of the test and the value that `selectattr` takes.

## Why is this bad?

A text is always true, and a repetition changes nothing: usually, a comparison is missing, or a copy was not
changed.

## Example

```yaml
{% if tone in ["formal", "casual", "formal"] %}
                                   ^^^^^^^^ pointless-condition: `"formal"` is already in this list
- name: tone
  content: Write in a {{ tone }} tone.
{% endif %}
```

Use instead:

```yaml
{% if tone in ["formal", "casual", "friendly"] %}
- name: tone
  content: Write in a {{ tone }} tone.
{% endif %}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from promptls.lint.rule import (
    JINJA_KINDS,
    Edit,
    File,
    Finding,
    Fix,
    RelatedInformation,
    Severity,
    each_chunk,
    rule,
)
from promptls.semantic.branches import OpenBlock
from promptls.semantic.names.template_names import placed_statement_at
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import chunks_with, summary, union
from promptls.syntax.jinja.blocks import block_tags, chunk_blocks, loose_tags
from promptls.syntax.jinja.file_blocks import FileBlock, blocks_across, blocks_inside
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Constant,
    Expression,
    Filter,
    Item,
    Keyword,
    Name,
    Operation,
    Test,
)
from promptls.syntax.jinja.problems import expressions_in, tag_tree
from promptls.syntax.jinja.tag_tokens import tokenize
from promptls.text.positions import Span

_END: Final = re.compile(r"\s*[-+]?%\}$")
_CALL: Final = re.compile(r"\w\s*\(")
_has_loose_branches: Final = summary(
    lambda chunk: any(tag.keyword in {"elif", "else"} for tag in loose_tags(chunk)), any
)
"""Whether a block with branches may span several chunks."""


@rule(severity="warning", kinds=JINJA_KINDS)
def pointless_condition(file: File) -> Iterator[Finding]:
    """Yield the repeated conditions of branches, operands and options."""
    source = file.template.source
    yield from _in_blocks(file)
    for block in blocks_across(source.root) if _has_loose_branches(file.chunks) else ():
        yield from (*_branches(block, source.text), *_same(block, source.text))
    yield from _in_expressions(file)
    yield from _printed_empty(file)


@each_chunk
def _in_blocks(chunk: Chunk) -> Iterator[Finding]:
    for block in blocks_inside(chunk):
        yield from (*_branches(block, chunk.text), *_same(block, chunk.text), *_copied(block, chunk))


@chunk_fact
def _printed(chunk: Chunk) -> tuple[_Read, ...]:
    """Return the variables and attributes that tags print, as they are or through a filter, or loop over."""
    found: list[_Read] = []
    for tag in chunk.tags:
        statement = tag_tree(tag).statement if tag.kind in {"output", "statement"} else None
        if statement is None or statement.keyword not in {"output", "for"}:
            continue
        for node in statement.expressions[:1]:
            value, root = _read_plainly(node), _root(_read_plainly(node))
            if value is not None and root is not None:
                span, start = value.span.shifted(tag.span.start), tag.span.start
                found.append(_Read(chunk.slice(span), span, root.span.shifted(start), tag.kind == "output"))
    return tuple(found)


_printed_names: Final = summary(lambda chunk: frozenset(each.text for each in _printed(chunk)), union)


def _empty_in_branches(chunk: Chunk) -> Iterator[str]:
    for place in (each.place for each in block_tags(chunk) if each.keyword == "if"):
        tag = chunk.tags[place]
        test = tag_tree(tag).statement.first
        for node in (_denied(test), _affirmed(test)):
            written = tag.text[node.span.start : node.span.end] if node is not None else ""
            if written and (node is not test or written in _in_else(chunk, place)):
                yield written


def _in_else(chunk: Chunk, place: int) -> str:
    """Return the text of the `else` of an `if` without `elif` whose tags are all in the chunk."""
    for pair in chunk_blocks(chunk).pairs:
        if pair.opening == place and len(pair.middles) == 1:
            middle = chunk.tags[pair.middles[0]]
            is_else = tag_tree(middle).statement.keyword == "else"
            return chunk.text[middle.span.end : chunk.tags[pair.closing].span.start] if is_else else ""
    return ""


_denied_names: Final = summary(lambda chunk: frozenset(_empty_in_branches(chunk)), union)
"""The variables and attributes that are empty if a condition is true, or if it is false."""


def _printed_empty(file: File) -> Iterator[Finding]:
    """Yield the variables that a block prints whose condition is that they are empty or undefined."""
    suspicious = _denied_names(file.chunks) & _printed_names(file.chunks)
    found: dict[Span, Finding] = {}
    for located in chunks_with(file.chunks, _printed_names, suspicious):
        for each in _printed(located.chunk):
            if each.text not in suspicious:
                continue
            reference = file.template.names.reference_at(each.root.shifted(located.start))
            binding = reference.binding if reference is not None else None
            if reference is None or (binding is not None and binding.kind != "for"):
                continue
            span = each.span.shifted(located.start)
            for block in file.template.branches.at(span.start):
                placed = placed_statement_at(file.template, block.opening) if block.keyword == "if" else None
                if placed is None or (binding is not None and binding.span.start > block.opening):
                    continue
                test = placed[0].first
                empty = _affirmed(test) if block.branch else _denied(test)
                if empty is None or file.template.source.slice(empty.span.shifted(placed[1])) != each.text:
                    continue
                condition = placed[0].expressions[0].span.shifted(placed[1])
                action, done = ("prints", "printed") if each.is_printed else ("loops over", "looped over")
                related = RelatedInformation(file.path, span, f"it is {done} here")
                where = "false" if block.branch else "true"
                message = f"where this is {where}, `{each.text}` is empty, but the block {action} it"
                if block.branch and empty is test and not _is_else(file, block):
                    continue  # a branch may read several conditions
                severity: Severity | None = "hint" if block.branch and empty is test else None
                finding = Finding(condition, message, related=(related,), severity=severity)
                found.setdefault(condition, finding)
    yield from found.values()


def _is_else(file: File, block: OpenBlock) -> bool:
    """Return whether the branch of a block in one chunk is the `else` of an `if` without `elif`."""
    located = file.template.source.located(block.opening)
    places = (each.place for each in block_tags(located.chunk) if each.keyword == "if")
    return any(
        located.chunk.tags[place].span.covers(block.opening - located.start)
        and _in_else(located.chunk, place) != ""
        for place in places
    )


class _Read(NamedTuple):
    """A variable or attribute that a tag prints or loops over; `root` is the span of the variable."""

    text: str
    span: Span
    root: Span
    is_printed: bool


def _root(node: Expression | None) -> Name | None:
    """Return the variable at the start of attributes."""
    while isinstance(node, Attribute):
        node = node.target
    return node if isinstance(node, Name) else None


def _denied(test: Expression | None) -> Name | Attribute | None:
    """Return the variable or attribute that a condition says to be empty or undefined, and nothing else."""
    match test:
        case Operation(operators=("not",), operands=(Name() | Attribute() as node,)):
            return node
        case Test(name="undefined" | "none", target=Name() | Attribute() as node):
            return node
        case Operation(
            operators=("not",), operands=(Test(name="defined", target=Name() | Attribute() as node),)
        ):
            return node
    return None


def _affirmed(test: Expression | None) -> Name | Attribute | None:
    """Return the variable or attribute that is empty or undefined where a condition is false."""
    match test:
        case Name() | Attribute():
            return test
        case Test(name="defined", target=Name() | Attribute() as node):
            return node
        case Operation(
            operators=("not",),
            operands=(Test(name="undefined" | "none", target=Name() | Attribute() as node),),
        ):
            return node
    return None


def _read_plainly(node: Expression) -> Name | Attribute | None:
    """Return what an expression prints as it is, or through filters and the escaping function."""
    if isinstance(node, Filter) and node.name not in {"default", "d", "length", "count", "tojson"}:
        return _read_plainly(node.target) if node.target is not None else None
    if isinstance(node, Call) and len(node.arguments) == 1 and isinstance(node.function, Name):
        is_escaped = node.function.name == "escape_special_characters"
        return _read_plainly(node.arguments[0]) if is_escaped else None
    return node if isinstance(node, Name | Attribute) else None


def _branches(block: FileBlock, text: str) -> Iterator[Finding]:
    """Yield the conditions that an earlier branch of the block has."""
    seen: set[tuple[str, ...]] = set()
    for tag, keyword in zip(block.tags, block.keywords, strict=True):
        if text[keyword.start : keyword.end] not in {"if", "elif"}:
            continue
        condition = _END.sub("", text[keyword.end : tag.end])
        options = _divided(_tokens(condition)[:-1], "or")
        if all(not seen.isdisjoint([each, *_divided(each, "and")]) for each in options):
            start = keyword.end + len(condition) - len(condition.lstrip())
            message = "an earlier branch has this condition, so that this one is never reached"
            severity: Severity | None = "hint" if _CALL.search(condition) else None
            yield Finding(Span(start, keyword.end + len(condition)), message, severity=severity)
        seen.update(options)


_MIN_COPIED: Final = 40
"""The minimum number of characters of a branch that is a copy; a few words may be the same in both."""
_NAME: Final = re.compile(r"^[ ]*-[ ]+name:[^\n]*$", re.MULTILINE)


def _same(block: FileBlock, text: str) -> Iterator[Finding]:
    """Yield the branches of an `if` that print the same as the one before them, except for names of parts."""
    if block.keyword != "if" or not block.is_closed:
        return
    bodies = [text[tag.end : after.start].strip() for tag, after in pairwise(block.tags)]
    for (before, body), keyword in zip(pairwise(bodies), block.keywords[1:], strict=False):
        word = text[keyword.start : keyword.end]
        ends_alike = len(body) >= _MIN_COPIED and before.endswith(body[-_MIN_COPIED:])
        if word == "elif" and ends_alike and _NAME.sub("", before) == _NAME.sub("", body):
            yield Finding(keyword, "this branch prints the same as the one before it", severity="hint")
        elif word == "else" and body and len({*bodies}) == 1:
            yield Finding(keyword, "all branches print the same, so that the condition has no effect")


def _divided(tokens: tuple[str, ...], operator: Literal["and", "or"]) -> list[tuple[str, ...]]:
    """Return the operands of a chain of `and` or `or`, as tokens; only the whole if it may be none."""
    if any(each in {"(", "[", "{", "if"} for each in tokens):
        return [tokens]
    starts = [-1, *(index for index, each in enumerate(tokens) if each == operator), len(tokens)]
    return [tokens[first + 1 : last] for first, last in pairwise(starts)]


_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_CHOICE: Final = re.compile(r"\b(?:or|if|is|default|in)\b|\|\s*d\(|[=!<>]=")


def _copied(block: FileBlock, chunk: Chunk) -> Iterator[Finding]:
    """Yield what an `elif` prints of an earlier condition, which is false there, if it does not read its own."""
    text, earlier = chunk.text, set[str]()
    for tag, keyword, after in zip(block.tags, block.keywords, block.tags[1:], strict=False):
        condition = _END.sub("", text[keyword.end : tag.end]).strip()
        if _PATH.fullmatch(condition) is None:
            return
        tags = (each for each in chunk.tags if each.kind in {"output", "statement"})
        inside = [each for each in tags if tag.end <= each.span.start < after.start]
        reads = [
            node.span.shifted(start)
            for start, node in expressions_in(chunk)
            if tag.end <= start < after.start and isinstance(node, Name | Attribute)
        ]
        read = {text[span.start : span.end] for span in reads}
        is_plain = all(
            each.kind == "output" or tag_tree(each).statement.keyword == "set" for each in inside
        ) and not any(_CHOICE.search(text, each.span.start, each.span.end) for each in inside)
        if is_plain and condition not in read:
            for span in reads:
                if text[span.start : span.end] in earlier:
                    message = "this is false in this branch, which does not read its own condition"
                    yield Finding.suggest(span, message, condition, severity="hint")
        earlier.add(condition)


class _Place(NamedTuple):
    """The tag at `start` of a chunk, from where the spans of its expressions count."""

    chunk: Chunk
    start: int

    def span(self, node: Expression) -> Span:
        """Return the span of an expression in the chunk."""
        return node.span.shifted(self.start)

    def text(self, node: Expression) -> str:
        """Return an expression as it is written."""
        return self.chunk.slice(self.span(node))

    def tokens(self, node: Expression) -> tuple[str, ...]:
        """Return the tokens of an expression."""
        return _tokens(self.text(node))


@each_chunk
def _in_expressions(chunk: Chunk) -> Iterator[Finding]:
    conditions = {
        tag.span.start: statement.expressions
        for tag in chunk.tags
        if tag.kind == "statement" and (statement := tag_tree(tag).statement).keyword in {"if", "elif"}
    }
    for start, expressions in conditions.items():
        match expressions:
            case (Collection(kind="tuple", items=(_, _, *_)) as condition, *_):
                message = (
                    "a comma makes this a tuple, which is always true; the options of `in` are in brackets"
                )
                yield Finding(condition.span.shifted(start), message)
            case (Constant(value=str() as text) as condition, *_) if text:
                meant = text if text.isidentifier() else None
                yield Finding.suggest(condition.span.shifted(start), "a text is always true", meant)
    for start, node in expressions_in(chunk):
        place = _Place(chunk, start)
        match node:
            case Operation(operators=("and" | "or", *_)):
                yield from _joined(place, node, is_condition=start in conditions)
            case Operation():
                yield from _of_comparison(place, node)
            case Filter(name="default" | "d"):
                yield from _late_default(place, node)
            case Filter(target=Filter(name=name) as inner) if name == node.name and not node.arguments:
                if not inner.arguments and name in _ONCE:
                    message = f"`{name}` is already applied to this value"
                    yield Finding(node.name_span.shifted(start), message, severity="hint")
            case Collection(kind="dict"):
                yield from _twice(place, node.items[::2], "a key of this mapping")
            case Filter(
                name="reject" | "rejectattr" | "select" | "selectattr",
                arguments=(
                    Operation(operators=(operator,), operands=(Constant(value=str()), value)) as test,
                ),
            ) if operator in _COMPARISONS and not isinstance(value, Constant):
                message = f"this compares a text; `{node.name}` takes the test and its value as two arguments"
                yield Finding(place.span(test), message)


_ONCE: Final = frozenset(
    {"abs", "capitalize", "e", "escape", "int", "list", "lower", "string", "title", "tojson", "trim", "upper"}
)
"""Filters that change nothing if they are applied again, or that were not meant to be, such as `tojson`."""


def _joined(place: _Place, node: Operation, *, is_condition: bool) -> Iterator[Finding]:
    """Yield what is wrong with the last operand of `and` or `or`, beside those before it."""
    operator, last = node.operators[0], node.operands[-1]
    before = [each for operand in node.operands[:-1] for each in _operands(operand, operator)]
    for beside, text in ((node.operands[-2], last), (node.operands[1], node.operands[0])):
        is_text = isinstance(text, Constant) and isinstance(text.value, str) and text.value
        if is_condition and (is_text or (isinstance(text, Collection) and text.items)):
            yield from _always_true(place, beside, text)
    for each in (*before, last) if is_condition else ():
        if isinstance(each, Constant) and each.value in ({True} if operator == "or" else {False}):
            when = "always" if each.value else "never"
            yield Finding(place.span(each), f"with this, the condition is {when} true")
    if place.tokens(last) in {place.tokens(each) for each in before}:
        yield Finding(place.span(last), f"this `{operator}` already has this operand")
    sign, when, meant = _OPPOSED[operator]
    *earlier, compared = (_compared(place, each, sign) for each in (*before, last))
    if compared and any(each and each[0] == compared[0] and each[1] != compared[1] for each in earlier):
        message = f"with the comparison before it, this is {when} true; did you mean `{meant}`?"
        yield Finding(place.span(last), message)
    yield from _not_none(place, node.operands[-2], last)
    denied = [_denied(each) for each in (*before, last)]
    empty = {place.text(each) for each in denied if each is not None}
    for each in (*before, last) if operator == "and" else ():
        if isinstance(each, Name | Attribute) and place.text(each) in empty:
            yield Finding(place.span(each), f"this is never true, as `{place.text(each)}` is empty beside it")


def _of_comparison(place: _Place, node: Operation) -> Iterator[Finding]:
    """Yield comparisons of constants, and options that occur twice or are a text."""
    if node.operators[0] in _COMPARISONS and all(isinstance(each, Constant) for each in node.operands):
        message = "this compares two constants; a test of a filter and its value are two arguments"
        yield Finding(place.span(node), message)
    elif node.operators[0] in {"==", "!="}:
        yield from _with_list(place, node)
        match node.operands:
            case (Filter(name="lower" | "upper" as case), Constant(value=str() as text) as compared):
                if text != (meant := getattr(text, case)()):
                    message = f"`{case}` returns no such text"
                    fix = f"{place.text(compared)[0]}{meant}{place.text(compared)[0]}"
                    yield Finding.suggest(place.span(compared), message, fix)
    elif node.operators[0] in {"in", "not in"}:
        options = node.operands[1]
        if isinstance(options, Collection) and options.kind != "dict":
            yield from _twice(place, options.items, "in this list")
        yield from _in_text(place, node.operands[0], options)
        if (
            isinstance(options, Constant)
            and isinstance(options.value, str)
            and _LISTED.fullmatch(options.value)
        ):
            message = "the quotes make this list a text: any part of it is found"
            yield Finding(place.span(options), message)


def _with_list(place: _Place, node: Operation) -> Iterator[Finding]:
    """Yield the comparison of a value with a whole list of texts."""
    match node.operands:
        case (Name() | Attribute() | Item(), Collection(kind="list", items=(_, *_) as items) as compared):
            if all(isinstance(each, Constant) and isinstance(each.value, str) for each in items):
                meant = "in" if node.operators[0] == "==" else "not in"
                message = f"this compares with the whole list; `{meant}` looks for the value in it"
                yield Finding(place.span(compared), message, severity="hint")


_LISTED: Final = re.compile(r"\[.*,.*\]|\(.*,.*\)")
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
_FILLING: Final = frozenset(
    {
        "capitalize", "center", "escape", "e", "format", "indent", "join", "list", "lower", "replace", "safe",
        "string", "title", "tojson", "trim", "truncate", "upper", "wordwrap",
    }
)  # fmt: skip
"""Filters that return a value for an undefined one, or fail."""


def _late_default(place: _Place, node: Filter) -> Iterator[Finding]:
    """Yield the `default` for what a filter returns, which is never undefined."""
    inner = node.target
    takes_empty = len(node.arguments) > 1 or any(isinstance(each, Keyword) for each in node.arguments)
    if isinstance(inner, Filter) and inner.name in _FILLING and not takes_empty:
        message = f"what `{inner.name}` returns is never undefined: write `{node.name}` before it"
        yield Finding(node.name_span.shifted(place.start), message)


def _always_true(place: _Place, before: Expression, text: Expression) -> Iterator[Finding]:
    """Yield the finding for a text beside a comparison, to which it is not compared."""
    while isinstance(before, Operation) and before.operators[0] in {"and", "or"}:
        before = before.operands[-1]
    signs = {("in",), ("not in",)} if isinstance(text, Collection) else {("==",), ("!=",)}
    if isinstance(before, Operation) and before.operators in signs:
        what = "list" if isinstance(text, Collection) else "text"
        meant = f"{place.text(before.operands[0])} {before.operators[0]} {place.text(text)}"
        yield Finding.suggest(place.span(text), f"a {what} is always true", meant)


_OPPOSED: Final = {"and": ("==", "never", "or"), "or": ("!=", "always", "and")}
"""The comparisons with two values that contradict each other, when both are true, and what may be meant."""


def _compared(place: _Place, node: Expression, sign: str) -> tuple[tuple[str, ...], str] | None:
    """Return what a comparison compares with which constant; None for any other expression."""
    match node:
        case Operation(
            operators=(operator,),
            operands=(Name() | Attribute() | Item() as value, Constant(value=str() | int() as constant)),
        ) if operator == sign:
            return place.tokens(value), repr(constant)
    return None


def _not_none(place: _Place, before: Expression, node: Expression) -> Iterator[Finding]:
    """Yield a `not none`, which is always true, after a test."""
    operand = node.operands[0] if isinstance(node, Operation) and node.operators == ("not",) else None
    if isinstance(operand, Constant) and operand.value is None:
        message = "this is always true, whatever is before it"
        if isinstance(before, Test) and before.name == "defined":
            meant = f"{place.text(before.target)} is not none"
            yield Finding.suggest(place.span(node), message, meant)
        else:
            yield Finding(place.span(node), message)


def _in_text(place: _Place, value: Expression, options: Expression) -> Iterator[Finding]:
    """Yield a text in parentheses that is searched for a value, as a tuple would be with a comma."""
    if isinstance(value, Constant) or not isinstance(options, Constant) or not isinstance(options.value, str):
        return
    span, chunk = place.span(options), place.chunk
    if chunk.text[: span.start].rstrip().endswith("(") and chunk.text[span.end :].lstrip().startswith(")"):
        message = "without a comma, this is a text and not a tuple: any part of it is found"
        yield Finding(span, message, (Fix("Insert a comma", (Edit.insert(span.end, ","),)),))


def _operands(node: Expression, operator: str) -> Iterator[Expression]:
    """Yield the operands that a chain of one operator joins."""
    if isinstance(node, Operation) and node.operators[0] == operator:
        for operand in node.operands:
            yield from _operands(operand, operator)
    else:
        yield node


def _twice(place: _Place, items: Iterable[Expression], where: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for item in items:
        if isinstance(item, Constant) and isinstance(item.value, str):
            if item.value in seen:
                yield Finding(place.span(item), f"`{place.text(item)}` is already {where}")
            seen.add(item.value)


def _tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of an expression, which white space does not change."""
    return tuple(token.text for token in tokenize(text, 0, len(text)))
