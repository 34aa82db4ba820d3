"""Inlay hints: the tokens of each part and include."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath

from promptls.ide.experiment_runs import known_assessments
from promptls.rendering.file_rendering import (
    FileRendering,
    PartRange,
    brought_in,
    parts_by_file,
    rendered_parts,
    template_text,
    varying,
)
from promptls.rendering.outcome import RenderedPart
from promptls.semantic.kind import Kind
from promptls.semantic.template import PlacedPart, Template
from promptls.text.format import plural
from promptls.text.positions import Span
from promptls.workspace.contract import included_part_names
from promptls.workspace.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class InlayHint:
    """A text to show after `offset`, and its tooltip."""

    offset: int
    label: str
    tooltip: str


def inlay_hints(
    snapshot: Snapshot, path: str, within: Span, latest: FileRendering | None
) -> tuple[InlayHint, ...]:
    """Return the hints in the span `within`; no token counts before the file was rendered or counted."""
    template = snapshot.template(path)
    if template is None:
        return ()
    assessments = tuple(
        hint for hint in _assessment_hints(snapshot, path, template) if within.touches(hint.offset)
    )
    if latest is None or not snapshot.project(path).settings.inlay_hints.tokens:
        return assessments
    kind = snapshot.kind(path)
    if kind is Kind.OBJECT:
        found = _object_hint(template, latest)
    elif kind in {Kind.PARTS, Kind.SECTION}:
        found = chain(
            _part_hints(snapshot, path, template, latest), _include_hints(snapshot, path, template, latest)
        )
    else:
        return assessments
    return (*(hint for hint in found if within.touches(hint.offset)), *assessments)


def _assessment_hints(snapshot: Snapshot, path: str, template: Template) -> Iterator[InlayHint]:
    """Yield the leave-one-out verdicts after few-shot examples."""
    for each in known_assessments(snapshot, path):
        line = template.source.line_span(template.source.line_column(each.example.span.start).line)
        stale = ", stale" if each.stale else ""
        yield InlayHint(
            line.end, f"{each.tokens:.0f} tokens: {each.verdict}{stale}", f"{each.experiment}: {each.message}"
        )


def _part_hints(
    snapshot: Snapshot, path: str, template: Template, latest: FileRendering
) -> Iterator[InlayHint]:
    """Yield the token counts of rendered parts, after the parts' names.

    While the file fails to render, unchanged parts retain the counts of the last rendering.
    """
    shown = latest.last or latest
    became: tuple[tuple[RenderedPart, ...], ...] = ()
    if shown.rendering is not None:
        became = rendered_parts(template, included_part_names(snapshot, path), shown.rendering)
    for index, placed in enumerate(template.parts):
        is_changed = not latest.applies_to(template_text(template, placed))
        rendered = became[index] if became and not is_changed else ()
        offset = _name_end(template, placed)
        varied = varying(shown, placed.part.name) if not is_changed else None
        if rendered or varied:
            label = _rendered_label(rendered) if rendered else plural(0, "token")
            yield _counted(offset, label, _rendered_tooltip(rendered, shown), varied)
        elif (tokens := latest.template_tokens.get(template_text(template, placed))) is not None:
            yield InlayHint(offset, f"~{plural(tokens, 'token')}", _template_tooltip(latest))


def _include_hints(
    snapshot: Snapshot, path: str, template: Template, latest: FileRendering
) -> Iterator[InlayHint]:
    """Yield the token counts of the parts that includes add, after the includes."""
    shown = latest.last or latest
    if shown.rendering is None or not template.references:
        return
    by_file = parts_by_file(snapshot, path, shown.rendering)
    for reference in template.references:
        target = snapshot.resolve(path, reference) if reference.keyword == "include" else None
        parts = brought_in(snapshot, by_file, target) if target is not None else None
        included = snapshot.template(target) if target is not None and parts is not None else None
        if target is None or parts is None or included is None or not latest.applies_to(included.source.text):
            continue
        count = f"{plural(len(parts), 'part')}, " if len(parts) > 1 else ""
        label = f"{count}{plural(sum(part.tokens for part in parts), 'token')}"
        tooltip = f"parts of `{PurePath(target).name}`, rendered with {_sample(shown)}"
        offset = _tag_end(template, reference.span.start)
        yield _counted(offset, label, tooltip, varying(shown, target))


def _counted(offset: int, label: str, tooltip: str, varied: PartRange | None) -> InlayHint:
    if varied is None:
        return InlayHint(offset, label, tooltip)
    return InlayHint(
        offset,
        f"{label} ({varied.minimum:,}-{varied.maximum:,})",
        f"{tooltip}; {range_text(varied)}",
    )


def _tag_end(template: Template, offset: int) -> int:
    located = template.source.located(offset)
    tag = located.tag_at(offset)
    return located.start + tag.span.end if tag is not None else offset


def _sample(latest: FileRendering) -> str:
    return f"`{latest.sample.name}` ({latest.sample.source}), {latest.job.encoding}"


def range_text(varied: PartRange) -> str:
    """Return a range of tokens as part of a sentence."""
    return (
        f"{varied.minimum:,} to {plural(varied.maximum, 'token')}, mostly {varied.median:,},"
        f" with {varied.times} samples and rows"
    )


def _rendered_label(parts: tuple[RenderedPart, ...]) -> str:
    counts = [part.tokens for part in parts]
    cut = (
        ""
        if all(part.kept for part in parts)
        else ", cut"
        if not any(part.kept for part in parts)
        else ", partly cut"
    )
    if len(parts) == 1:
        return plural(counts[0], "token") + cut
    minimum, maximum = min(counts), max(counts)
    each = plural(maximum, "token") if minimum == maximum else f"{minimum:,}-{maximum:,} tokens"
    return f"{len(parts)} parts of {each}{cut}"


def _rendered_tooltip(parts: tuple[RenderedPart, ...], latest: FileRendering) -> str:
    tokens = sum(part.tokens for part in parts)
    return f"{plural(tokens, 'token')}{limit_share(tokens, latest)}, rendered with {_sample(latest)}"


def limit_share(tokens: int, latest: FileRendering) -> str:
    """Return the share of the token limit as the end of a sentence; empty if there is no limit."""
    limit = latest.token_limit
    return f", {tokens / limit:.0%} of the limit of {limit:,}" if limit else ""


def _template_tooltip(latest: FileRendering) -> str:
    why = (
        f"the prompt does not render: {latest.failure.message}"
        if latest.failure
        else f"what it renders to with `{latest.sample.name}` is not known, or it is left out"
    )
    return f"tokens of the template text, {latest.job.encoding}; {why}"


def _name_end(template: Template, placed: PlacedPart) -> int:
    value = placed.part.value("name")
    if value is not None and not value.span.is_empty():
        return value.span.end + placed.start
    source = template.source
    return source.line_span(source.line_column(placed.span.start).line).end


def _object_hint(template: Template, latest: FileRendering) -> Iterator[InlayHint]:
    latest = latest.last or latest
    place = template.declarations.key_span("instruction")
    if place is None or latest.rendering is None or not latest.rendering.parts:
        return
    line = template.source.line_span(template.source.line_column(place.start).line)
    yield InlayHint(
        line.end, plural(latest.rendering.tokens, "token"), _rendered_tooltip(latest.rendering.parts, latest)
    )
