"""Values of part keys, also those that Jinja prints: what they can be, and those that are invalid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.lint.rule import Edit, File, Finding, Fix
from promptls.semantic.names.template_names import placed_statement_at
from promptls.semantic.parts import chunk_contents, chunk_items
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Conditional,
    Constant,
    Expression,
    Filter,
    Name,
    Operation,
    Statement,
)
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, key_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span, line_end, stripped_span

PRIORITY: Final = "truncation_priority"
_SILENT: Final = frozenset({"if", "elif", "else", "for", "set", "macro", "with", "import", "from"})
"""The statements that print nothing themselves; the tags that end a block do not either."""


def may_be_filled(chunk: Chunk, following: Span) -> bool:
    """Return whether a tag after a key could print its value: an output tag, or one followed by text."""
    tags = [tag for tag in chunk.tags if following.covers(tag.span.start)]
    if any(may_print(tag) for tag in tags if tag.kind != "comment"):
        return True
    starts = [tag.span.end for tag in tags]
    ends = [*(tag.span.start for tag in tags[1:]), following.end]
    return any(
        line.strip() and not line.lstrip().startswith("#")
        for start, end in zip(starts, ends, strict=False)
        for line in chunk.text[start:end].splitlines()
    )


def may_print(tag: Tag) -> bool:
    """Return whether a tag may itself print something."""
    if tag.kind != "statement" or tag.unclosed:
        return True
    keyword = tag_tree(tag).statement.keyword
    return keyword not in _SILENT and not keyword.startswith("end")


_MESSAGE: Final = "a part is a mapping with `name` and `content`"


def no_part_items(chunk: Chunk) -> Iterator[Finding]:
    """Yield the items of the chunk that Prompt Poet cannot turn into a part."""
    if any(tag.unclosed for tag in chunk.tags):
        return  # the content of an unclosed comment or tag looks like text
    reported: set[Span] = set()
    for item in chunk_items(chunk).others:
        place = item_place(chunk, item)
        if place in reported or _may_be_part(chunk, item):
            continue
        reported.add(place)
        yield Finding(place, f"{_MESSAGE}; nothing is here" if item.span.is_empty() else _MESSAGE)


def item_place(chunk: Chunk, item: Node) -> Span:
    """Return the first line of an item of a list, or the dash of an empty item."""
    if not item.span.is_empty():
        first = chunk.text[item.span.start : min(item.span.end, line_end(chunk.text, item.span.start))]
        return Span(item.span.start, item.span.start + len(first.rstrip()))
    dash = chunk.text.rfind("-", 0, item.span.start)
    return Span(dash, dash + 1)


def _may_be_part(chunk: Chunk, item: Node) -> bool:
    """Return whether the item may be a part: printed by Jinja, or with its first key still being typed."""
    if not isinstance(item, Scalar):
        return False
    if item.span.is_empty():
        return may_be_filled(chunk, Span(item.span.start, chunk.length))
    if item.style:
        return False
    return item.dynamic or any(key.startswith(item.text) for key in PART_KEYS)


_CANDIDATE: Final = re.compile(r"(?:^|[\s\[{,])![^\s\[\]{},]", re.MULTILINE)
_TAG: Final = re.compile(r"(?:&[^\s\[\]{},]+\s+)?(!(?:<[^>\s]*>|[^\s\[\]{},]*))")
_SHORT: Final = "!!"
_LONG: Final = "tag:yaml.org,2002:"
LOADED_SCALARS: Final = frozenset(
    {"str", "int", "float", "bool", "null", "timestamp", "binary", "merge", "value"}
)
"""The tags of scalars that the loader supports."""
_OF_MAPPINGS: Final = frozenset({"map", "set"})
_OF_SEQUENCES: Final = frozenset({"seq", "omap", "pairs"})


def refused_tags(chunk: Chunk) -> Iterator[Finding]:
    """Yield the tags in the chunk's YAML that libyaml's safe loader refuses, at their places."""
    if _CANDIDATE.search(chunk.text) is None:
        return
    reported: set[Span] = set()
    for root in chunk_yaml(chunk).roots:
        for node in _nodes(root):
            match = _TAG.match(chunk.text, node.span.start)
            if match is None or match.end() > max(node.span.end, node.span.start):
                continue
            span = Span(*match.span(1))
            if span not in reported and not _is_known(match.group(1), node):
                reported.add(span)
                message = f"the YAML loader of Prompt Poet refuses the tag `{match.group(1)}`"
                yield Finding(span, message)


def _nodes(node: Node) -> Iterator[Node]:
    """Yield the node and its descendants, innermost first: a mapping begins where its first key does."""
    if isinstance(node, Sequence):
        for item in node.items:
            yield from _nodes(item)
    elif isinstance(node, Mapping):
        for entry in node.entries:
            yield from _nodes(entry.key)
            yield from _nodes(entry.value)
    yield node


def _is_known(tag: str, node: Node) -> bool:
    if tag.startswith("!<"):
        known = tag[2:-1].removeprefix(_LONG) if tag[2:].startswith(_LONG) else ""
    elif tag == "!":
        return True
    else:
        known = tag[2:] if tag.startswith(_SHORT) else ""
    if isinstance(node, Scalar):
        return known in LOADED_SCALARS
    return known in (_OF_MAPPINGS if isinstance(node, Mapping) else _OF_SEQUENCES)


_UNCHANGING: Final = frozenset(
    {"trim", "indent", "string", "safe", "wordwrap", "center", "list", "first", "last"}
)
"""Filters that do not change the characters of a text."""
_JOINING: Final = frozenset({"~", "+", "or"})


def choices(node: Expression) -> tuple[Expression, ...]:
    """Return the expressions that may be the value: branches of a condition, a default, items of `cycle`.

    For a default, only the default value itself is returned.
    """
    match node:
        case Conditional(then=then, otherwise=otherwise):
            return (then,) if otherwise is None else (then, otherwise)
        case Operation(operators=("or", *_), operands=(*_, last)):
            return (last,)
        case Filter(name="default" | "d", arguments=(given, *_)):
            return (given,)
        case Call(function=Attribute(name="cycle", target=Name(name="loop")), arguments=arguments):
            return arguments
        case _:
            return ()


def flowing(node: Expression) -> Iterator[Constant | Name]:
    """Yield the constants and variables whose texts an expression may print unchanged."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, (Constant, Name)):
            yield current
        else:
            stack.extend(reversed(_unchanged(current)))


def _unchanged(node: Expression) -> tuple[Expression, ...]:
    """Return the subexpressions that are printed unchanged as part of an expression."""
    match node:
        case Operation(operators=operators, operands=operands) if set(operators) <= _JOINING:
            return operands
        case Operation(operators=("and", *_), operands=(*_, last)):
            return (last,)
        case Collection(kind=kind, items=items) if kind != "dict":
            return items
        case Filter(target=target, name="default" | "d") if target is not None:
            return (target, *choices(node))
        case Filter(target=target, name="join", arguments=arguments) if target is not None:
            return (target, *arguments[:1])
        case Filter(target=target, name=name) if target is not None and name in _UNCHANGING:
            return (target,)
        case Call(function=Name(name="escape_special_characters"), arguments=arguments):
            return arguments
        case Call(function=Name() as function):
            return (function,)
        case _:
            return choices(node)


_PLAIN: Final = re.compile(r"[\w.+-]*")
"""A word without quotes, comments or other characters that are special in YAML."""


class Printed(NamedTuple):
    """A possible text of a value, at the place of its literal, without quotes.

    If nothing is printed because a condition is false, `text` is empty and `condition` is the condition.
    """

    text: str
    span: Span
    condition: str = ""


def printed_values(chunk: Chunk, key: Span, value: Scalar) -> Iterator[Printed]:
    """Yield the literals that the value of a key can be, if Jinja is in or around it."""
    span = place_of_value(chunk, key, value)
    tags = [tag for tag in chunk.tags if span.covers(tag.span.start)]
    if not tags:
        return
    if len(tags) == 1 and tags[0].kind == "output":
        if tags[0].span == span:
            for expression in tag_tree(tags[0]).statement.expressions:
                yield from _literal_texts(expression, tags[0])
        return
    branching = [tag for tag in tags if tag.kind == "statement"]
    keywords = [tag_tree(tag).statement.keyword for tag in branching]
    is_one_block = keywords[:1] == ["if"] and keywords[-1] == "endif" and keywords.count("if") == 1
    is_whole = branching and span == Span(branching[0].span.start, branching[-1].span.end)
    if not is_one_block or not is_whole or not set(keywords) <= {"if", "elif", "else", "endif"}:
        return
    for before, after in pairwise(branching):
        yield from _in_branch(chunk, before, after, tags)
    if len(branching) == len(["if", "endif"]):
        test = tag_tree(branching[0]).statement.expressions[0].span.shifted(branching[0].span.start)
        yield Printed("", span, chunk.slice(test))


@chunk_fact
def _variables(chunk: Chunk) -> tuple[tuple[str, str, Span], ...]:
    """Return the variables that are the whole value of a role or priority: the key, the name and its place."""
    found = []
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            value, key = entry.value, key_text(entry)
            if key not in {"role", PRIORITY} or not isinstance(value, Scalar) or not value.dynamic:
                continue
            span = place_of_value(chunk, entry.key.span, value)
            tag = next((tag for tag in chunk.tags if tag.span == span and tag.kind == "output"), None)
            match tag_tree(tag).statement.expressions if tag else ():
                case (Name(name=name, span=place),):
                    found.append((key, name, place.shifted(span.start)))
    return tuple(found)


def assigned_values(file: File, key: str) -> Iterator[tuple[str, Printed]]:
    """Yield the literals assigned to variables that are the value of a key, each once, with the variable's name."""
    template = file.template
    bound = template.names.bound_names("set") | template.names.bound_names("for")
    seen: set[Span] = set()
    for located, (of, name, place) in items_in(file.chunks, _variables):
        reference = template.names.reference_at(place.shifted(located.start)) if name in bound else None
        binding = reference.binding if reference is not None else None
        if of != key or binding is None or binding.span in seen:
            continue
        seen.add(binding.span)
        if (placed := placed_statement_at(template, binding.span.start)) is not None:
            statement, start = placed
            for printed in _assigned_literals(statement):
                yield name, printed._replace(span=printed.span.shifted(start))


def place_of_value(chunk: Chunk, key: Span, value: Scalar) -> Span:
    """Return the span of a value with its tags, without quotes: one tag, or the rest of the line."""
    if any(tag.span == value.span for tag in chunk.tags):
        return value.span
    colon = chunk.text.find(":", key.end) + 1
    start, end = stripped_span(chunk.text[colon : line_end(chunk.text, colon)], colon)
    is_quoted = end - start > 1 and chunk.text[start] in "'\"" and chunk.text[end - 1] == chunk.text[start]
    return Span(start + 1, end - 1) if is_quoted else Span(start, end)


def _assigned_literals(statement: Statement) -> tuple[Printed, ...]:
    """Return the literals that a tag assigns to its only variable."""
    if len(statement.targets) != 1 or len(statement.expressions) != 1:
        return ()
    value = statement.expressions[0]
    if statement.keyword == "set":
        return tuple(_literal_texts(value))
    if statement.keyword == "for" and isinstance(value, Collection) and value.kind != "dict":
        return tuple(word for item in value.items for word in _literal_texts(item))
    return ()


def _in_branch(chunk: Chunk, before: Tag, after: Tag, tags: list[Tag]) -> Iterator[Printed]:
    """Yield the word between two tags, if there is only one."""
    inside = [tag for tag in tags if before.span.end <= tag.span.start < after.span.start]
    span = stripped_span(chunk.text[before.span.end : after.span.start], before.span.end)
    word = chunk.slice(span)
    if not inside:
        if _PLAIN.fullmatch(word):
            yield Printed(word, span)
    elif len(inside) == 1 and inside[0].kind == "output" and inside[0].span == span:
        for expression in tag_tree(inside[0]).statement.expressions:
            yield from _literal_texts(expression, inside[0])


def _literal_texts(node: Expression, tag: Tag | None = None) -> Iterator[Printed]:
    """Yield the literals that an expression can evaluate to; with a tag, at their places in its chunk.

    The case that nothing is printed is only included with a tag.
    """
    start = tag.span.start if tag is not None else 0
    match node:
        case Constant(value=str() as text):
            yield Printed(text, Span(node.span.start + 1, node.span.end - 1).shifted(start))
        case Constant(value=value):
            yield Printed(str(value), node.span.shifted(start))
        case _:
            for choice in choices(node):
                yield from _literal_texts(choice, tag)
    if tag is not None and isinstance(node, Conditional) and node.otherwise is None:
        yield Printed("", node.span.shifted(start), tag.text[node.test.span.start : node.test.span.end])


_NUMBERS: Final = frozenset({"int", "float", "bool"})
WORDS: Final = {"int": "a number", "float": "a number", "bool": "a boolean", "timestamp": "a date"}
"""Descriptions of the types of plain YAML scalars other than text."""
_MEANT: Final = {PRIORITY: "a number", "sections": "a list", "expected_template_data_keys": "a list"}


def printed_values_of_keys(chunk: Chunk) -> Iterator[Finding]:
    """Yield the values containing Jinja that have, or can have, the wrong type for a number or list."""
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            value, key = entry.value, key_text(entry)
            if not isinstance(value, Scalar) or key not in _MEANT:
                continue
            if value.dynamic and value.style and chunk.text[value.span.start] != "!":
                what = "a block" if value.style in {"|", ">"} else "what is quoted"
                message = f"{what} is text for YAML, and `{key}` is {_MEANT[key]}"
                yield Finding(value.span, message, tuple(_bare(chunk, value)))
            if key != PRIORITY or value.style:
                continue
            for printed in printed_values(chunk, entry.key.span, value):
                if printed.condition:
                    message = (
                        f"where `{printed.condition}` is false, this is null, and truncation fails on null"
                    )
                    yield Finding(printed.span, message, severity="warning")
                elif value.dynamic and _tag(printed.text) not in _NUMBERS and not printed.span.is_empty():
                    yield Finding(printed.span, _message(printed))


def bound_priorities(file: File) -> Iterator[Finding]:
    """Yield the assigned values of variables that are used as priorities but are not numbers."""
    for name, printed in assigned_values(file, PRIORITY):
        if printed.text and _tag(printed.text) not in _NUMBERS:
            yield Finding(printed.span, f"`{name}` is a priority: {_message(printed)}")


def printed_contents(chunk: Chunk) -> Iterator[Finding]:
    """Yield the contents that Jinja prints unquoted and that YAML may not read as text."""
    for content in chunk_contents(chunk):
        value = content.value
        if value.style:
            continue
        whole = place_of_value(chunk, content.key, value)
        text = chunk.slice(whole)
        quote = next((each for each in "\"'" if each not in text), None)
        fixes = (Fix("Quote it", (Edit(whole, f"{quote}{text}{quote}"),), preferred=True),) if quote else ()
        for printed in printed_values(chunk, content.key, value):
            if printed.condition:
                message = f"where `{printed.condition}` is false, this content is null, and joining the prompt fails"
                yield Finding(printed.span, message, fixes, severity="warning")
            elif value.dynamic and (word := WORDS.get(_tag(printed.text))) and not printed.span.is_empty():
                message = f"printed bare, YAML reads this content as {word}; quote it to send it as text"
                yield Finding(printed.span, message, fixes)


def _message(printed: Printed) -> str:
    what = "null" if _tag(printed.text) == "null" else "text"
    return f"`truncation_priority` is a number; truncation fails on {what}"


def _bare(chunk: Chunk, value: Scalar) -> Iterator[Fix]:
    """Yield the fix that removes the quotes around a tag."""
    text = chunk.slice(value.span)
    tags = [tag for tag in chunk.tags if value.span.covers(tag.span.start)]
    is_single = len(tags) == 1 and tags[0].kind == "output"
    if value.style in {"'", '"'} and is_single and text[1:-1].strip() == tags[0].text:
        yield Fix("Remove the quotes", (Edit(value.span, tags[0].text),), preferred=True)


@lru_cache(maxsize=256)
def _tag(text: str) -> str:
    """Return the YAML type of a plain scalar: `str`, `int`, `bool` and so on."""
    from yaml.nodes import ScalarNode
    from yaml.resolver import Resolver

    resolved: str = Resolver().resolve(ScalarNode, text.strip(), (True, False))  # type: ignore[no-untyped-call]  # PyYAML has no annotations for it
    return resolved.rpartition(":")[2]
