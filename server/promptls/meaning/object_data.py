"""The plain data of a YAML tree: what libyaml would load, without what Jinja prints into it."""

from __future__ import annotations

from typing import Any, Final

from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence

_WORDS: Final = {
    "yes": True, "true": True, "on": True, "no": False, "false": False, "off": False,
}  # fmt: skip


def plain_data(node: Node) -> Any:
    """The data of `node`; scalars that Jinja takes part in are text, as far as they are known."""
    if isinstance(node, Mapping):
        return {
            key
            if isinstance(key := plain_data(entry.key), (str, int, float, bool))
            else str(key): plain_data(entry.value)
            for entry in node.entries
        }
    if isinstance(node, Sequence):
        return [plain_data(item) for item in node.items]
    return _scalar(node)


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
