"""What is known of a completed member of a value."""

from __future__ import annotations

from promptls.features.completion.known_values import way_to
from promptls.features.completion.place import TagPlace, place_in
from promptls.features.completion.request import Request
from promptls.features.hover.key_texts import key_texts
from promptls.meaning.key_ways import way_of
from promptls.meaning.paths import Step
from promptls.syntax.jinja.expected import expected_in_tag


def member_documentation(request: Request, label: str) -> str:
    """What is known of the key `label` of the value whose members were asked for; empty where it has none."""
    at = place_in(request.template, request.offset)
    if not isinstance(at, TagPlace):
        return ""
    expected = expected_in_tag(at.tag.text, at.tag.inner_start, at.tag.inner_end, at.place)
    if expected is None or expected.what not in {"attribute", "key", "element"}:
        return ""
    way = way_to(request, expected.target, of_elements=expected.what == "element")
    if not way_of(way):
        return ""
    origin = f"`{request.newest.sample.name}`" if request.newest else "the first sample"
    path = (*way, Step(label))
    return "\n\n".join(key_texts(request.snapshot, request.path, path, request.data, origin))
