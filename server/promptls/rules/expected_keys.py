"""The data that a file's parts say they expect."""

from __future__ import annotations

from promptls.meaning.template import Template
from promptls.syntax.yaml.nodes import Sequence, scalar_text


def expected_keys(template: Template) -> frozenset[str]:
    """The names that parts list under `expected_template_data_keys`."""
    if "expected_template_data_keys" not in template.source.text:
        return frozenset()
    return frozenset(
        text
        for placed in template.parts
        if isinstance(node := placed.part.value("expected_template_data_keys"), Sequence)
        for item in node.items
        if (text := scalar_text(item)) is not None
    )
