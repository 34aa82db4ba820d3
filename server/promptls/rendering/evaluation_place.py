"""Where in an evaluation prompt a value of its configuration stands."""

from __future__ import annotations

from promptls.dialects.opencompass.failures import ConfigPath
from promptls.semantic.evaluation import evaluation_of
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence


def line_at(text: str, at: ConfigPath) -> int | None:
    """Return the 0-based line of the value at a path of keys, or of the last key on the way that is there.

    None if the path is empty, or Jinja prints its beginning.
    """
    evaluation = evaluation_of(Source.of(text).first_chunk)
    if evaluation is None or not at:
        return None
    node: Node = evaluation.root if at[0] in {"meta_template", "reader_cfg"} else evaluation.holder
    place: int | None = None
    for key in at:
        if isinstance(node, Mapping) and (entry := node.entry(str(key))):
            place, node = entry.key.span.start, entry.value
        elif isinstance(node, Sequence) and isinstance(key, int) and key < len(node.items):
            node = node.items[key]
            place = node.span.start
        else:
            break
    return None if place is None else text.count("\n", 0, place)
