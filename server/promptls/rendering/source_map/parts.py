"""Where the content of each part comes from: YAML and the clean-up, followed back to the rendered text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import yaml

from promptls.rendering.source_map.leaves import leaves_of
from promptls.rendering.source_map.mapped_text import MappedText, concatenated, made_of
from promptls.rendering.source_map.pieces import Leaf, SourceFile
from promptls.rendering.source_map.rendered import RenderedMap, Segment
from promptls.rendering.source_map.scalars import scalar_bounds, scalar_runs
from promptls.systems.prompt_poet.cleanup import DEFAULT_MARKERS, Markers, clean_content, clean_section
from promptls.systems.prompt_poet.parts import PromptPart

_KEPT_VALUES: Final = 4_096
_LONGEST_KEPT: Final = 10_000
"""Values of more characters are not kept: all that are kept must fit into the memory of a small process."""
_RENDERED: Final = SourceFile("", 0)
"""The rendered text as a file: contents are made of its pieces with the very functions of Prompt Poet."""


def part_segments(
    rendered: RenderedMap, root: Any, parts: Sequence[PromptPart], markers: Markers = DEFAULT_MARKERS
) -> list[list[Segment]]:
    """The segments of each part's content, whose text it has, from the YAML node of the rendered text.

    Empty for contents that are no text.
    """
    items = root.value if isinstance(root, yaml.SequenceNode) else ()
    found: list[list[Segment]] = []
    for item, part in zip(items, parts, strict=False):
        content = _content(rendered.text, item, part, markers)
        found.append(list(_led_back(rendered, content)) if content is not None else [])
    return found + [[] for _ in parts[len(found) :]]


def mapped_value(text: str, key: Any, node: Any) -> MappedText:
    """The value of a scalar of the rendered `text`, made of pieces of it; `key` is its key's node."""
    start, end = scalar_bounds(text, node)
    found = _value(text[start:end], node.value, node.style, key.start_mark.column)
    return MappedText(node.value, [leaf.moved(start) for leaf in leaves_of(found)])


def segments_of(rendered: RenderedMap, content: str) -> list[Segment]:
    """The segments of a text that was made of mapped values."""
    return list(_led_back(rendered, content)) if type(content) is MappedText else []


def _content(text: str, item: Any, part: PromptPart, markers: Markers) -> MappedText | None:
    """The part's content, made of pieces of the rendered text."""
    if not isinstance(part.content, str) or not isinstance(item, yaml.MappingNode):
        return None
    if part.sections:
        _, sections = _entry(item, "sections")
        nodes = sections.value if isinstance(sections, yaml.SequenceNode) else ()
        texts = [_cleaned(text, *_entry(node, "content"), clean_section, markers) for node in nodes]
        found = concatenated(texts).strip()
    else:
        found = _cleaned(text, *_entry(item, "content"), clean_content, markers)
    if found == part.content and type(found) is MappedText:
        return found
    return MappedText(
        part.content, [Leaf(part.content, _RENDERED, item.start_mark.index, item.end_mark.index)]
    )


def _entry(item: Any, key: str) -> tuple[Any, Any]:
    """The nodes of a key and its value: the last one, as for Prompt Poet, or one that is merged in."""
    found: tuple[Any, Any] = None, None
    for name, value in item.value if isinstance(item, yaml.MappingNode) else ():
        if isinstance(name, yaml.ScalarNode) and name.value == key:
            found = name, value
    return found


def _cleaned(text: str, key: Any, node: Any, clean: Callable[[str, Markers], str], markers: Markers) -> str:
    """The value of a scalar as `clean` leaves it, made of pieces of the text."""
    if not isinstance(node, yaml.ScalarNode):
        return clean(MappedText("", []), markers)
    start, end = scalar_bounds(text, node)
    value = text[start:end], node.value, node.style, key.start_mark.column
    if end - start > _LONGEST_KEPT:
        leaves = _cleaned_leaves.__wrapped__(*value, clean, markers)
    else:
        leaves = _cleaned_leaves(*value, clean, markers)
    return made_of([leaf.moved(start) for leaf in leaves])


@lru_cache(maxsize=_KEPT_VALUES)
def _cleaned_leaves(
    raw: str,
    value: str,
    style: str | None,
    indent: int,
    clean: Callable[[str, Markers], str],
    markers: Markers,
) -> list[Leaf]:
    """The leaves of a cleaned value, which lead to `raw`: most values of a prompt stay as they are."""
    return [
        leaf if leaf.file is not None else leaf._replace(file=_RENDERED, end=len(raw))
        for leaf in leaves_of(clean(_value(raw, value, style, indent), markers))
    ]


def _value(raw: str, value: str, style: str | None, indent: int) -> MappedText:
    """The value that is written `raw`, made of pieces of that."""
    runs = scalar_runs(raw, value, style, indent)
    if runs is None:
        return MappedText(value, [Leaf(value, _RENDERED, 0, len(raw))])
    return MappedText(
        value,
        [
            Leaf(run.text, _RENDERED, run.start, run.end, is_text=raw[run.start : run.end] == run.text)
            for run in runs
        ],
    )


def _led_back(rendered: RenderedMap, content: MappedText) -> Iterator[Segment]:
    """The segments of a content whose pieces lead to the rendered text."""
    at = 0
    for leaf in leaves_of(content):
        if leaf.is_text:
            by = at - leaf.start
            for segment in rendered.between(leaf.start, leaf.end):
                yield Segment(segment[0] + by, segment[1] + by, *segment[2:])
        else:
            made = list(rendered.between(leaf.start, leaf.end))
            if made:
                yield _made(made, at, at + len(leaf.text))
        at += len(leaf.text)


def _made(segments: list[Segment], start: int, end: int) -> Segment:
    """The segment of characters that several of the rendered text became."""
    first = segments[0]
    last = next(segment for segment in reversed(segments) if segment.path == first.path)
    return first._replace(start=start, end=end, last=max(first.last, last.last), verbatim=False)
