"""What a prompt file declares of itself, in its header or at its top level."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

import yaml

from promptls.meaning.example import Example
from promptls.meaning.header_problems import HeaderProblem, problem_of, unreadable, way_to
from promptls.meaning.header_text import CLOSING, OPENING, begins_header
from promptls.meaning.setting_words import first_without_name, names_at
from promptls.settings.header import Header
from promptls.settings.valid_part import valid_part
from promptls.syntax.source import Source
from promptls.syntax.yaml.compose import compose
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence, key_text, scalar_text
from promptls.syntax.yaml.salvage import TOP_KEY, may_be_left_out, mended_key
from promptls.text.lines import line_end
from promptls.text.nearest import nearest
from promptls.text.span import NOWHERE, Span

_BUT_LINE_BREAK: Final = re.compile(r"[^\n]")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class InputKey:
    """An input that the file declares: its name, where that stands, and its JSON Schema."""

    name: str
    span: Span
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Declarations:
    """Everything that a file declares; spans count from the start of the file.

    `span` is empty where nothing is declared. `data` holds the keys as YAML gives them, and
    `settings` the same, validated; keys that are not valid are left out of it.
    """

    span: Span = NOWHERE
    tree: Mapping | None = None
    data: dict[str, Any] = field(default_factory=dict)
    settings: Header = field(default_factory=Header)
    problems: tuple[HeaderProblem, ...] = ()
    inputs: tuple[InputKey, ...] | None = None
    examples: tuple[Example, ...] = ()

    def key_span(self, key: str) -> Span | None:
        """Where a key of the top level stands."""
        entry = self.tree.entry(key) if self.tree else None
        return entry.key.span if entry else None

    def value_span(self, *path: str | int) -> Span | None:
        """Where the value under a path of keys and list positions stands."""
        node = way_to(self.tree, path)
        return node.span if node else None


def header_of(source: Source) -> Declarations | None:
    """The declarations in the header, the comment `{#--- … ---#}` ahead of everything else.

    None where the file has no such comment; one that begins with a line of dashes is none. What is not
    valid is a problem in the result.
    """
    chunk = source.first_chunk
    behind = 0
    for tag in chunk.tags:
        if chunk.text[behind : tag.span.start].strip("\ufeff \t\r\n"):
            return None
        behind = tag.span.end
        if tag.kind == "comment" and not tag.unclosed and begins_header(tag.text):
            closing = len(CLOSING) if tag.text.endswith(CLOSING) else 2
            inside = tag.text[len(OPENING) : len(tag.text) - closing]
            return _read(inside, tag.span.start, tag.span.start + len(OPENING), tag.span.end, _NOT_GROWN)
        if tag.kind != "comment":
            return None
    return None


class _Growth(NamedTuple):
    """Where a header was mended: the offset behind the characters that were put in, and their number."""

    offset: int
    number: int

    def written(self, offset: int) -> int:
        """The place in the header as it is written of a place in the mended one."""
        if offset >= self.offset:
            return offset - self.number
        return min(offset, self.offset - self.number)


_NOT_GROWN: Final = _Growth(0, 0)


@lru_cache(maxsize=64)
def _read(text: str, begin: int, base: int, end: int, grown: _Growth) -> Declarations:
    def span(first: int, last: int) -> Span:
        last = first + len(text[first:last].rstrip())
        return Span(base + grown.written(first), base + grown.written(last))

    composed = compose(text, span, lambda _span: False)
    if composed.error:
        offset = composed.error.offset
        written = len(text.rstrip())
        if offset >= written:  # libyaml places what is missing behind the end
            offset = text.rfind("\n", 0, written) + 1
        place = Span(base + offset, base + max(line_end(text, offset), offset + 1))
        problem = HeaderProblem("syntax", place, composed.error.message)
        mended = _without_broken_keys(text)
        if mended is None:
            return Declarations(Span(begin, end), problems=(problem,))
        declared = _read(mended[0], begin, base, end, mended[1])
        return replace(declared, problems=(problem, *declared.problems))
    if composed.root is None:
        return Declarations(Span(begin, end))
    if not isinstance(composed.root, Mapping):
        problem = HeaderProblem(
            "invalid-value", composed.root.span, "a header is a mapping of keys to values"
        )
        return Declarations(Span(begin, end), problems=(problem,))
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506  (it is the safe loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = unreadable(error, text, composed.root.span, base)
        return Declarations(Span(begin, end), composed.root, problems=(problem,))
    if _is_inside_itself(data, ()):
        problem = HeaderProblem("invalid-value", composed.root.span, "an alias stands inside its own anchor")
        return Declarations(Span(begin, end), composed.root, problems=(problem,))
    return declarations_of(composed.root, data, Span(begin, end), frozenset())


def _without_broken_keys(text: str) -> tuple[str, _Growth] | None:
    """The header with spaces for the keys whose YAML is broken, so that all others keep their places.

    A key that decides what the names in the file mean is mended, at one place in the header at most. None
    where that cannot be, and where all of it mends nothing.
    """
    rest, above = "", ""
    grown = _NOT_GROWN
    for block in TOP_KEY.split(text):
        if _is_mapping(block):
            rest += block
        elif grown is _NOT_GROWN and (mended := mended_key(block)) is not None:
            number = len(mended) - len(block)
            if number:
                grown = _Growth(len(rest) + len(mended.rstrip()), number)
            rest += mended
        elif may_be_left_out(block, above):
            rest += _BUT_LINE_BREAK.sub(" ", block)
        else:
            return None
        above = block
    return (rest, grown) if rest != text and _is_mapping(rest) else None


def _is_mapping(text: str) -> bool:
    composed = compose(text, Span, lambda _span: False)
    return composed.error is None and (composed.root is None or isinstance(composed.root, Mapping))


def _is_inside_itself(value: Any, around: tuple[int, ...]) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return id(value) in around or any(_is_inside_itself(item, (*around, id(value))) for item in inside)


def declarations_of(
    tree: Mapping, data: dict[str, Any], span: Span, own_keys: frozenset[str]
) -> Declarations:
    """The declarations in a mapping whose other keys, `own_keys`, are those of a prompt object."""
    settings, problems = _validated(tree, data, own_keys)
    return Declarations(
        span=span,
        tree=tree,
        data=data,
        settings=settings,
        problems=problems,
        inputs=_inputs(tree.merged("input_keys"), data.get("input_keys")),
        examples=_examples(tree.merged("examples"), data.get("examples")),
    )


def _validated(
    tree: Mapping, data: dict[str, Any], own_keys: frozenset[str]
) -> tuple[Header, tuple[HeaderProblem, ...]]:
    known = {key: value for key, value in data.items() if isinstance(key, str)}
    if own_keys:
        known = {key: value for key, value in known.items() if key in Header.model_fields}
    examples = known.get("examples")
    if isinstance(examples, list) and _have_names(examples):
        # Nothing can be wrong with them, and there may be very many.
        rest, invalid = valid_part(Header, {key: value for key, value in known.items() if key != "examples"})
        settings = rest.model_copy(update={"examples": examples})
    else:
        settings, invalid = valid_part(Header, known)
    misspelt = {
        (*found.path[:-1], nearest(str(found.path[-1]), names_at(Header, found.path[:-1])))
        for found in invalid
        if found.is_unknown_key
    }
    nameless = first_without_name(invalid, Header)
    return settings, tuple(
        problem_of(tree, found, nameless.get(found.path))
        for found in invalid
        if nameless.get(found.path) != ""
        and (found.path not in misspelt or way_to(tree, found.path) is not None)
    )


def _have_names(examples: list[Any]) -> bool:
    """Whether all are mappings whose keys are texts."""
    return set(map(type, examples)) <= {dict} and set(map(type, chain.from_iterable(examples))) <= {str}


def _inputs(node: Node | None, data: Any) -> tuple[InputKey, ...] | None:
    if isinstance(node, Sequence):
        return tuple(
            InputKey(text, item.span, {}) for item in node.items if (text := scalar_text(item)) is not None
        )
    if isinstance(node, Mapping):
        found = []
        for entry in node.entries:
            name = key_text(entry)
            if name is not None:
                schema = data.get(name) if isinstance(data, dict) else None
                found.append(InputKey(name, entry.key.span, schema if isinstance(schema, dict) else {}))
        return tuple(found)
    return None


def _examples(node: Node | None, data: Any) -> tuple[Example, ...]:
    if not isinstance(node, Sequence) or not isinstance(data, list):
        return ()
    pairs = [
        (item, value)
        for item, value in zip(node.items, data, strict=False)
        if isinstance(item, Mapping) and isinstance(value, dict)
    ]
    return tuple([Example(number, item, value) for number, (item, value) in enumerate(pairs, start=1)])
