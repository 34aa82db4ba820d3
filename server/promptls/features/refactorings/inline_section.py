"""An include replaced by the text of the file that it includes."""

from __future__ import annotations

from typing import Final

from promptls.features.refactorings.refactoring import Change, Offer, Place, refused
from promptls.meaning.name_events import chunk_events
from promptls.meaning.references import TemplateReference
from promptls.meaning.template import Template
from promptls.rules.rule import Edit
from promptls.syntax.jinja.tag import Tag

_KIND: Final = "refactor.inline"


def inline_section(place: Place) -> Offer | None:
    """The text of the included file in the place of the include at the selection."""
    found = place.template.source.located(place.span.start)
    offset = place.span.start - found.start
    tag = next((tag for tag in found.chunk.tags if tag.span.start <= offset <= tag.span.end), None)
    reference = next(
        (
            reference
            for reference in place.template.references
            if tag and tag.span.shifted(found.start).contains(reference.span.start)
        ),
        None,
    )
    if tag is None or reference is None or reference.keyword != "include" or not reference.name:
        return None
    target = place.snapshot.resolve(place.path, reference)
    section = place.snapshot.template(target) if target else None
    if target is None or section is None:
        return None
    title = f"Inline `{reference.name}`"
    reason = _reason(place, reference, section, tag)
    if reason:
        return refused(title, _KIND, reason)

    def change() -> Change:
        return Change((Edit(tag.span.shifted(found.start), _text(section)),))

    return Offer(title, _KIND, change)


def _text(section: Template) -> str:
    """What the include prints: the text without its header and without the line end that Jinja takes away."""
    text = section.source.text.removeprefix("\ufeff")
    if section.header is not None:
        text = section.source.text[section.header.span.end :].lstrip()
    for end in ("\r\n", "\n", "\r"):
        if text.endswith(end):
            return text.removesuffix(end)
    return text


def _reason(place: Place, reference: TemplateReference, section: Template, tag: Tag) -> str:
    """Why the text would mean something else where the include stands; else an empty text."""
    if not reference.with_context:
        return "it is included `without context`, so that it sees no variables"
    if reference.alternatives or reference.is_choice:
        return "the include names several files"
    if section is place.template:
        return "the file includes itself"
    if any(each.keyword == "extends" for each in section.references):
        return "the file extends another one"
    events = [event for chunk in section.source.chunks for event in chunk_events(chunk)]
    if any(event.action == "read" and event.name == "loop" for event in events):
        return "the file reads `loop`, which it does not see as an included file, and would see here"
    if any(event.action == "open" and event.name == "block" for event in events):
        return "the file has blocks, which would be blocks of this file"
    outside = place.template.names.read_names
    kept_inside = {event.name for event in events if event.action == "bind"} & outside
    if kept_inside:
        return f"the file sets `{min(kept_inside)}`, which would be seen here too"
    return _trims(section, tag)


def _trims(section: Template, tag: Tag) -> str:
    text = _text(section)
    tags = [tag for chunk in section.source.chunks for tag in chunk.tags]
    if section.header is not None:
        tags = tags[1:]
    if tag.trims_after or tag.trims_before:
        return "the include trims what stands around it"
    if tags and tags[0].trims_before and text.startswith(tags[0].text):
        return "the file's first tag trims what stands before it"
    if tags and tags[-1].trims_after and text.endswith(tags[-1].text):
        return "the file's last tag trims what stands behind it"
    return ""
