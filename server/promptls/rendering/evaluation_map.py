"""The source map of an evaluation prompt: its configuration's texts know their places, and keep them.

What OpenCompass does with a text (filling in fields, putting in examples, laying out roles) is done
with texts that keep their pieces, by the very same functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from promptls.rendering.packed_map import PackedMap, packed_map
from promptls.rendering.source_map.parts import mapped_value, segments_of
from promptls.rendering.source_map.rendered import RenderedMap


def with_places(text: str, loaded: Any, root: Any) -> Any:
    """The loaded data, whose texts know where in the rendered `text` they stand; keys stay as they are."""
    return _placed(text, loaded, root, None, {})


def _placed(text: str, loaded: Any, node: Any, key: Any, known: dict[int, Any]) -> Any:
    """The value of a node; one that aliases lead to again is made once, and one inside itself stays plain."""
    if isinstance(loaded, str):
        if not isinstance(node, yaml.ScalarNode) or node.value != loaded:
            return loaded
        mapped = mapped_value(text, key or node, node)
        return mapped if mapped == loaded else loaded
    if id(node) in known:
        return known[id(node)]
    if isinstance(loaded, dict) and isinstance(node, yaml.MappingNode):
        known[id(node)] = loaded
        found = {name.value: (name, value) for name, value in node.value if isinstance(name, yaml.ScalarNode)}
        known[id(node)] = {
            name: _placed(text, value, found[str(name)][1], found[str(name)][0], known)
            if str(name) in found
            else value
            for name, value in loaded.items()
        }
    elif isinstance(loaded, list) and isinstance(node, yaml.SequenceNode) and len(loaded) == len(node.value):
        known[id(node)] = loaded
        known[id(node)] = [
            _placed(text, value, item, item, known) for value, item in zip(loaded, node.value, strict=True)
        ]
    return known.get(id(node), loaded)


def evaluation_map(
    source_map: RenderedMap, contents: Iterable[str], most_segments: int | None
) -> PackedMap | None:
    """The map of the rendered text and of the contents of the parts; None where it is too large."""
    if most_segments is not None and source_map.has_more_leaves(most_segments / 2):
        return None
    return packed_map(
        () if most_segments is not None else source_map.segments,
        [segments_of(source_map, content) for content in contents],
    )
