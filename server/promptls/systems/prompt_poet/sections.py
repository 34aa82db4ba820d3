"""A part that is made of named sections. Source: Prompt Poet 0.0.52."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from promptls.systems.prompt_poet.cleanup import Markers, clean_section
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.text.shortened import shortened


@dataclass(frozen=True, slots=True)
class PromptSection:
    """One named piece of a part. Its priority is kept, as in Prompt Poet, and used nowhere."""

    name: Any
    content: str
    tokens: Any = None
    truncation_priority: Any = None


def build_sections(item: Mapping[Any, Any], markers: Markers) -> tuple[PromptSection, ...]:
    """The sections of the YAML mapping `item`, cleaned; raises PromptPoetError of kind `parts`."""
    raw = item.get("sections")
    part = f"The part {shortened(item.get('name', 'without a name'))}"
    if not raw:
        raise PromptPoetError("parts", f"{part} has empty `sections`: list at least one, or use `content`.")
    if not isinstance(raw, list):
        raise PromptPoetError("parts", f"{part} has `sections` that are no list: begin each with `- name:`.")
    if "content" in item:
        raise PromptPoetError("parts", f"{part} has both `content` and `sections`: keep one of them.")
    places = [f"Section {index} of {part[0].lower()}{part[1:]}" for index in range(len(raw))]
    for where, section in zip(places, raw, strict=True):
        if not isinstance(section, dict):
            raise PromptPoetError("parts", f"{where} is no mapping: give it `name` and `content`.")
        for key in ("name", "content"):
            if key not in section:
                raise PromptPoetError("parts", f"{where} has no `{key}`: add it.")
    for where, section in zip(places, raw, strict=True):
        if not isinstance(section["content"], str):
            kind = type(section["content"]).__name__
            raise PromptPoetError(
                "parts",
                f"{where} has content that is no text but {kind}: put it in quotes or a `|` block.",
                cause="TypeError",
            )
    return tuple(
        PromptSection(
            name=section["name"],
            content=clean_section(section["content"], markers),
            tokens=section.get("tokens"),
            truncation_priority=section.get("truncation_priority"),
        )
        for section in raw
    )


def join_sections(sections: tuple[PromptSection, ...]) -> str:
    """The content of a part of these sections: joined without separator, stripped at both ends."""
    return "".join(section.content for section in sections).strip()
