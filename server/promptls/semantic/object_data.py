"""The plain data of a YAML tree: what libyaml would load, without what Jinja prints into it."""

from __future__ import annotations

from typing import Any, Final

from promptls.syntax.yaml.nodes import Collection, Mapping, Node, Scalar, Sequence, kept_with_node

_WORDS: Final = {
    "yes": True, "true": True, "on": True, "no": False, "false": False, "off": False,
}  # fmt: skip


def plain_data(node: Node) -> Any:
    """Return the data of `node`; scalars that Jinja takes part in are text, as far as they are known.

    It is kept with the node and shared by all who ask, so that nobody may change it.
    """
    return _scalar(node) if isinstance(node, Scalar) else _collection(node)


@kept_with_node
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


@kept_with_node
def is_printed(node: Collection) -> bool:
    """Return whether Jinja prints anything into the list or mapping, so that its data is not known whole."""
    if isinstance(node, Sequence):
        return any(map(holds_printed, node.items))
    return any(holds_printed(entry.key) or holds_printed(entry.value) for entry in node.entries)


def holds_printed(node: Node) -> bool:
    """Return the same of any node."""
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
