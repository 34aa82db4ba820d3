"""An outcome on its way from the worker: what follows from its parts is left out, and nothing is copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from promptls.rendering.outcome import RenderedPart, RenderedSection, RenderFailure, Rendering

_DERIVED = "derived"
"""Stands for a string or for messages that the kept parts tell."""


def packed_outcome(outcome: Rendering | RenderFailure) -> dict[str, Any]:
    """The outcome as JSON, a good deal smaller than `to_json` makes it."""
    if isinstance(outcome, RenderFailure):
        return outcome.to_json()
    string, messages = _derived(outcome.parts)
    return {
        "parts": [
            (
                part.name,
                part.role,
                part.content,
                part.tokens,
                part.truncation_priority,
                part.kept,
                [(section.name, section.content, section.tokens) for section in part.sections],
            )
            for part in outcome.parts
        ],
        "string": _DERIVED if outcome.string == string else [outcome.string],
        "messages": _DERIVED if outcome.messages == messages else outcome.messages,
        "tokens": outcome.tokens,
        "tokens_kept": outcome.tokens_kept,
        "text": outcome.text,
        "seconds": outcome.seconds,
        "problems": [problem.to_json() for problem in outcome.problems],
        "files": outcome.files,
        "viewer": outcome.viewer,
        "source_map": outcome.source_map,
    }


def unpacked_outcome(value: Mapping[str, Any]) -> Rendering | RenderFailure:
    """The outcome that `packed_outcome` wrote."""
    if "failure" in value:
        return RenderFailure.from_json(value)
    parts = tuple(
        RenderedPart(
            index,
            name,
            role,
            content,
            tokens,
            priority,
            kept,
            tuple(RenderedSection(*each) for each in sections),
        )
        for index, (name, role, content, tokens, priority, kept, sections) in enumerate(value["parts"])
    )
    string, messages = _derived(parts)
    return Rendering(
        parts=parts,
        string=string if value["string"] == _DERIVED else value["string"][0],
        messages=messages if value["messages"] == _DERIVED else value["messages"],
        tokens=value["tokens"],
        tokens_kept=value["tokens_kept"],
        text=value["text"],
        seconds=value["seconds"],
        problems=tuple(map(RenderFailure.from_json, value["problems"])),
        files=tuple(value["files"]),
        viewer=value["viewer"],
        source_map=value["source_map"],
    )


def _derived(parts: Sequence[RenderedPart]) -> tuple[str | None, list[dict[str, Any]]]:
    """The string and the messages that kept parts of usual kinds make."""
    kept = [part for part in parts if part.kept]
    texts = [part.content for part in kept]
    string = "".join(texts) if all(isinstance(text, str) for text in texts) else None
    return string, [{"role": part.role, "content": part.content} for part in kept]
