"""Build the plain data of a YAML tree: what libyaml would load, except text that Jinja prints."""

from __future__ import annotations

from typing import Any, Final

from promptls.syntax.chunk import Chunk, Role, chunk_fact, fact_values
from promptls.syntax.facts import summary
from promptls.syntax.source import Layout, Source
from promptls.syntax.yaml.mapping_chunks import sound
from promptls.syntax.yaml.nodes import Collection, Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.under_jinja import chunk_yaml

_WORDS: Final = {
    "yes": True, "true": True, "on": True, "no": False, "false": False, "off": False,
}  # fmt: skip


def mapping_data(source: Source, root: Mapping) -> dict[str, Any]:
    """Return the data of `root`, the mapping of a text; the values are shared and must not be changed."""
    is_apart = source.layout is Layout.MAPPING and not source.yaml.is_broken
    if not is_apart or _is_nested(source.root):
        return _collection(root)  # type: ignore[no-any-return]  # a mapping
    found: dict[str, Any] = {}
    last: str | None = None
    is_own = False
    for data in fact_values(_chunk_data, source.chunks):
        if isinstance(data, dict):
            found.update(data)
            last = next(reversed(data), last)
            is_own = False
        elif isinstance(data, list) and last is not None:
            if not is_own:
                found[last] = list(found[last] or ())
                is_own = True
            found[last] += data
    return found


@chunk_fact
def _chunk_data(chunk: Chunk) -> Any:
    roots = chunk_yaml(chunk).roots
    return plain_data(roots[0]) if roots else {}


def _is_nested_in(chunk: Chunk) -> bool:
    """Return whether the data of a chunk is merged into that of others, or belongs further inside."""
    roots = chunk_yaml(chunk).roots
    has_merge = any(isinstance(root, Mapping) and root.entry("<<") for root in roots)
    known = sound(chunk)
    return has_merge or chunk.role is Role.ENTRIES or (known is not None and len(known.open) > _FLAT)


_FLAT: Final = 2
"""How many lists and mappings are open after a list directly below a key of the outermost mapping."""
_is_nested: Final = summary(_is_nested_in, any)


def plain_data(node: Node) -> Any:
    """Return the data of `node`; scalars that contain Jinja are the known part of their text."""
    return _scalar(node) if isinstance(node, Scalar) else _collection(node)


def _collection(node: Collection) -> Any:
    if isinstance(node, Sequence):
        return [plain_data(item) for item in node.items]
    own = {
        key if isinstance(key := plain_data(entry.key), (str, int, float, bool)) else str(key): plain_data(
            entry.value
        )
        for entry in node.entries
    }
    merges = own.pop("<<", None) if isinstance(node.value("<<"), Mapping | Sequence) else None
    for merged in merges if isinstance(merges, list) else (merges,):
        if isinstance(merged, dict):
            own = {**own, **{key: value for key, value in merged.items() if key not in own}}
    return own


def is_printed(node: Collection) -> bool:
    """Return whether Jinja prints into the list or mapping, so that its data is not completely known."""
    if isinstance(node, Sequence):
        return any(map(holds_printed, node.items))
    return any(holds_printed(entry.key) or holds_printed(entry.value) for entry in node.entries)


def holds_printed(node: Node) -> bool:
    """Return whether a node or anything in it is printed by Jinja."""
    return node.dynamic if isinstance(node, Scalar) else is_printed(node)


def _scalar(node: Scalar) -> Any:
    if node.dynamic:
        return node.text
    text = node.text.replace("_", "")
    try:
        if node.tag == "int":
            return int(text, 0 if not text.lstrip("+-").startswith("0") or text.strip("+-") == "0" else 8)
        if node.tag == "float":
            return float(text)
    except ValueError:
        return node.text
    if node.tag == "bool":
        return _WORDS.get(node.text.lower(), node.text)
    return None if node.tag == "null" else node.text
