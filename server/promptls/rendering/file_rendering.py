"""The newest rendering of a file, for rules and for features that show it: plain data, and no process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

from promptls.meaning.template import PlacedPart, Template
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderedPart, RenderFailure, Rendering
from promptls.rendering.samples import Sample
from promptls.syntax.yaml.nodes import key_text


@dataclass(frozen=True, slots=True)
class FileRendering:
    """What a job made of a file. The file may have changed since: `job.text` is what was rendered."""

    job: RenderJob
    sample: Sample
    outcome: Rendering | RenderFailure
    template_tokens: Mapping[str, int] = field(default_factory=dict)
    """Tokens of the template texts of parts, by text."""

    @property
    def rendering(self) -> Rendering | None:
        """The rendering, where there is one."""
        return self.outcome if isinstance(self.outcome, Rendering) else None

    @property
    def failure(self) -> RenderFailure | None:
        """Why there is no rendering."""
        return self.outcome if isinstance(self.outcome, RenderFailure) else None

    @property
    def token_limit(self) -> int | None:
        """The most tokens that the prompt may have."""
        return self.job.token_limit if self.job.token_limit > 0 else None


def counted(tokens: int) -> str:
    """A number of tokens in words."""
    return f"{tokens:,} token" if tokens == 1 else f"{tokens:,} tokens"


def template_text(template: Template, placed: PlacedPart) -> str:
    """The part's content as the template has it, Jinja and all, without the block's indentation."""
    texts = []
    for entry in placed.part.entries:
        if key_text(entry) in {"content", "sections"}:
            text = template.source.slice(entry.value.span.shifted(placed.start))
            first, line_end, rest = text.partition("\n")
            texts.append(first + line_end + dedent(rest) if first.strip() in {"|", ">"} else dedent(text))
    return "\n".join(texts)


def template_texts(template: Template) -> tuple[str, ...]:
    """The template texts of all parts, in order."""
    return tuple(template_text(template, placed) for placed in template.parts)


def rendered_parts(
    template: Template, foreign_names: frozenset[str], rendering: Rendering
) -> tuple[tuple[RenderedPart, ...], ...]:
    """What each part of the template became: nothing, one part, or many in a loop.

    A part whose name is written out, and is no other's in the file or in those that it includes
    (`foreign_names`), is found by name. Where every part is rendered exactly once, they are found
    by their order. Parts that cannot be told apart became nothing.
    """
    names = [placed.part.name for placed in template.parts]
    if _is_one_to_one(template) and len(rendering.parts) == len(names):
        return tuple((part,) for part in rendering.parts)
    return tuple(
        tuple(part for part in rendering.parts if part.name == name)
        if name is not None and names.count(name) == 1 and name not in foreign_names
        else ()
        for name in names
    )


def _is_one_to_one(template: Template) -> bool:
    """Whether no tag stands between the parts that could add, repeat or leave out one of them."""
    if template.references:
        return False
    by_chunk: dict[int, list[PlacedPart]] = {}
    for placed in template.parts:
        by_chunk.setdefault(placed.start, []).append(placed)
    for start, chunk in zip(template.source.starts, template.source.chunks, strict=False):
        values = [entry.value.span for placed in by_chunk.get(start, ()) for entry in placed.part.entries]
        for tag in chunk.tags:
            if tag.kind == "comment":
                continue
            if not any(value.start <= tag.span.start and tag.span.end <= value.end for value in values):
                return False
    return True
