"""The data that a file's parts say they expect."""

from __future__ import annotations

from typing import Final

from promptls.meaning.parts import chunk_items
from promptls.meaning.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import union, united
from promptls.syntax.yaml.nodes import Sequence, scalar_text

_KEY: Final = "expected_template_data_keys"


def expected_keys(template: Template) -> frozenset[str]:
    """The names that parts list under `expected_template_data_keys`."""
    return _expected(template.source.root)


def _in_chunk(chunk: Chunk) -> frozenset[str]:
    if _KEY not in chunk.text:
        return frozenset()
    return frozenset(
        text
        for part in chunk_items(chunk).parts
        if isinstance(node := part.value(_KEY), Sequence)
        for item in node.items
        if (text := scalar_text(item)) is not None
    )


_expected: Final = united(_in_chunk, union)
