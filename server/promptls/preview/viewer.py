"""The prompts that an evaluation asks for one row, as the page shows them."""

from __future__ import annotations

from typing import Any

from promptls.preview import wire
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.samples import Sample


def viewer_json(made: FileRendering, sample: Sample) -> wire.Viewer | None:
    """Return the prompts with their examples, and the meta templates to choose from; None for other prompts.

    `row` counts from 0; it is None if the sample is no row of the dataset. The rows of examples
    count from 0 too.
    """
    found = made.rendering.viewer if made.rendering else None
    if found is None:
        return None
    word, _, number = sample.name.partition(" ")
    return {
        "rows": found["rows"],
        "row": int(number) - 1 if word == "row" and number.isdecimal() else None,
        "prompts": found["prompts"],
        "examples": [_example(each) for each in found["examples"]],
        "dropped": [{**_example(each), "label": each["label"]} for each in found["dropped"]],
        "inferencer": found["inferencer"],
        "retriever": found["retriever"],
        "approximation": found["approximation"],
        "metaTemplate": found["metaTemplate"],
        "metaTemplates": found["metaTemplates"],
    }


def _example(found: dict[str, Any]) -> wire.InContextExample:
    return {"row": found["row"] - 1, "text": found["text"], "tokens": found["tokens"]}
