"""What to render for the page, and its JSON: parts, rows of an evaluation prompt, and the source map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from promptls.ide.preview_parts import part_lines
from promptls.lint.runner import explained
from promptls.models.openai_compatible import schema_form
from promptls.preview import preview_wire
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.job import RenderJob, plain
from promptls.rendering.make import job_for
from promptls.rendering.outcome import PackedMap, RenderedPart, RenderFailure, Rendering, rows_of
from promptls.rendering.samples import (
    Sample,
    dataset_path,
    default_sample,
    row_sample,
    sample_named,
    sample_names,
)
from promptls.syntax.source import Source
from promptls.text.errors import optional
from promptls.text.positions import PositionEncoding
from promptls.workspace.snapshot import Snapshot


def preview_result(
    snapshot: Snapshot,
    path: str,
    made: FileRendering,
    uri_of: Callable[[str], str],
    encoding: PositionEncoding = PositionEncoding.UTF16,
) -> preview_wire.PreviewResult:
    """Return the rendering, and the data it was made from; `failure` is the reason if there is none.

    `uri_of` returns the URI of a file's path, as the reader's client writes it. Ranges of the source map are
    in units of `encoding`.
    """
    rendering = None if made.rendering is None else rendering_json(snapshot, path, made.rendering)
    files = [] if rendering is None else add_source_map(rendering, snapshot, made, uri_of, encoding)
    opened = snapshot.open_files.get(path)
    template = snapshot.template(path)
    dataset = dataset_path(template, path) if template else None
    samples = [_named(*each, dataset) for each in sample_names(snapshot, path)]
    chosen = _named(made.sample.name, made.sample.source, dataset)
    return {
        "uri": uri_of(path),
        "path": path,
        "version": opened.version if opened else None,
        "kind": snapshot.kind(path).value,
        "encoding": made.job.encoding,
        "sample": chosen,
        "samples": samples if chosen in samples or chosen["name"] == EDITED else [*samples, chosen],
        "dataset": dataset.name if dataset else None,
        "data": plain(made.sample.data),
        "standIns": list(made.job.stand_ins),
        "tokenLimit": made.token_limit,
        "truncationStep": made.job.truncation_step,
        "request": _request(snapshot, path),
        "files": files,
        "viewer": viewer_json(made, made.sample),
        "rendering": rendering,
        "failure": failure_json(explained(snapshot, path, made.failure)) if made.failure else None,
    }


def rendering_json(snapshot: Snapshot, path: str, rendering: Rendering) -> preview_wire.RenderingJson:
    """Return the rendering with the first template line and the section names of each part."""
    lines = part_lines(snapshot, path, rendering)
    return {
        "parts": [_part_json(part, lines.get(part.index)) for part in rendering.parts],
        "string": rendering.string,
        "messages": cast("list[preview_wire.ChatMessage]", rendering.messages),
        "tokens": rendering.tokens,
        "tokensKept": rendering.tokens_kept,
        "text": rendering.text,
        "seconds": rendering.seconds,
        "problems": [failure_json(problem) for problem in rendering.problems],
        "sourceMap": None,
    }


def failure_json(failure: RenderFailure) -> preview_wire.RenderingFailure:
    """Return the failure with its location."""
    return {
        "kind": failure.kind,
        "message": failure.message,
        "path": failure.path,
        "line": failure.line,
        "renderedLine": failure.rendered_line,
        "excerpt": failure.excerpt,
    }


def _part_json(part: RenderedPart, line: int | None) -> preview_wire.PartJson:
    return {
        "index": part.index,
        "name": part.name,
        "role": part.role,
        "content": part.content,
        "tokens": part.tokens,
        "truncationPriority": part.truncation_priority,
        "kept": part.kept,
        "sections": [section.name for section in part.sections] or None,
        "line": line,
        "sourceMap": None,
    }


def _named(name: str, source: str, dataset: Path | None) -> preview_wire.SampleName:
    """Return a sample as listed in the page, with its row, from 0, if it is a row of the dataset."""
    word, _, number = name.partition(" ")
    is_row = dataset is not None and source == dataset.name and word == "row" and number.isdecimal()
    if is_row:
        return {"name": name, "source": source, "row": int(number) - 1}
    return {"name": name, "source": source}


def _request(snapshot: Snapshot, path: str) -> preview_wire.RequestParameters:
    """Return the models and parameters of the file's first experiment, for the request view of the page."""
    template = snapshot.template(path)
    header = template.declarations.settings if template else None
    first = next(iter(((header.experiments if header else None) or {}).values()), None)
    schema = (first.json_schema if first else None) or (header.output_schema if header else None)
    return {
        "models": list(
            first.models if first and first.models else [snapshot.project(path).settings.default_model]
        ),
        "temperature": first.temperature if first else None,
        "maxTokens": first.max_tokens if first else None,
        "seed": first.seed if first else None,
        "schema": None if schema is None else schema_form(schema),
    }


def viewer_json(made: FileRendering, sample: Sample) -> preview_wire.Viewer | None:
    """Return the prompts with their examples, and the available meta templates; None for other prompts.

    `row` starts at 0; it is None if the sample is not a row of the dataset. The rows of examples
    also start at 0.
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


def _example(found: dict[str, Any]) -> preview_wire.InContextExample:
    return {"row": found["row"] - 1, "text": found["text"], "tokens": found["tokens"]}


def add_source_map(
    found: preview_wire.RenderingJson,
    snapshot: Snapshot,
    made: FileRendering,
    uri_of: Callable[[str], str],
    encoding: PositionEncoding,
) -> list[str]:
    """Add a `sourceMap` to each part of `found`, the rendering as JSON, and one for the text if requested.

    Return the URIs of the files that the segments refer to by index. The maps are None if the rendering has
    none, as for very large ones unless requested.
    """
    rendering = made.rendering
    packed = rendering.source_map if rendering else None
    if rendering is None or packed is None:
        return []
    ranges = _Ranges(snapshot, packed, encoding)
    if made.job.max_segments is None:
        found["sourceMap"] = ranges.map_of(rendering.text, packed["text"])
    for part, numbers in zip(found["parts"], packed["parts"], strict=False):
        if isinstance(part["content"], str):
            part["sourceMap"] = ranges.map_of(part["content"], numbers)
    return [uri_of(path) for path in packed["files"]]


class _Ranges:
    """The ranges of the files' spans."""

    def __init__(self, snapshot: Snapshot, packed: PackedMap, encoding: PositionEncoding) -> None:
        self._sources: list[Source] = []
        for path in packed["files"]:
            template = snapshot.template(path)
            self._sources.append(template.source if template else Source.of(""))
        self._packed = packed
        self._encoding = encoding
        self._known: dict[tuple[int, int], tuple[int, int]] = {}

    def map_of(self, text: str, numbers: Sequence[int]) -> preview_wire.PackedSegments:
        """Return the segments of a text, from the numbers of its packed rows."""
        segments: list[int] = []
        iterations: dict[int, int] = {}
        paths: dict[int, int] = {}
        is_wide = not text.isascii()
        at = units = 0
        for start, end, file, first, last, verbatim, iteration, path in rows_of(numbers):
            if is_wide:
                begin = units + _units(text[at:start])
                at, units = end, begin + _units(text[start:end])
            else:
                begin, units = start, end
            segments += (begin, units, file)
            segments += self._position(file, first)
            segments += self._position(file, last)
            segments += (
                verbatim,
                iterations.setdefault(iteration, len(iterations))
                if self._packed["iterations"][iteration]
                else -1,
                paths.setdefault(path, len(paths)) if self._packed["paths"][path] is not None else -1,
            )
        return {
            "segments": segments,
            "iterations": [self._packed["iterations"][iteration] for iteration in iterations],
            "dataPaths": [self._packed["paths"][path] for path in paths],
        }

    def _position(self, file: int, offset: int) -> tuple[int, int]:
        key = file, offset
        found = self._known.get(key)
        if found is None:
            source = self._sources[file]
            line, character = source.units(min(offset, len(source)), self._encoding)
            found = self._known[key] = line, character
        return found


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


MAX_SEGMENTS: Final = 10_000
"""The maximum number of segments, of the text and of all parts, in a result, unless more are requested."""


@dataclass(frozen=True, slots=True)
class RenderingChoice:
    """The data, the limit and the step to render with; None means those of the file and its settings."""

    sample: str | None = None
    row: int | None = None
    """A row of the first experiment's dataset, from 0."""
    limit: int | None = None
    """The token limit of the prompt."""
    step: int | None = None
    """Removal happens in multiples of this many tokens."""
    meta_template: str | None = None
    """The meta template for an evaluation prompt."""
    source_map: bool = False
    """Whether to include the source map regardless of its size."""
    edited: Mapping[str, Any] | None = None
    """The data itself, which the reader has edited, in place of a sample."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RenderingChoice:
        """Return the choice from a command's arguments; raises UsageError for values of other types."""
        return cls(
            sample=optional(value, "sample", str),
            row=optional(value, "row", int),
            limit=optional(value, "limit", int),
            step=optional(value, "step", int),
            meta_template=optional(value, "metaTemplate", str),
            source_map=optional(value, "sourceMap", bool) or False,
            edited=optional(value, "data", dict),
        )

    @property
    def data(self) -> str | int | None:
        """The sample's name, or the row's number from 1, or None for the default sample."""
        return self.sample if self.row is None else self.row + 1


def chosen_sample(snapshot: Snapshot, path: str, chosen: str | int | None) -> Sample:
    """Return the sample with a name, the row with a number from 1, or the default sample.

    Raises UserError if there is none.
    """
    if isinstance(chosen, int):
        return row_sample(snapshot, path, chosen)
    return default_sample(snapshot, path) if chosen is None else sample_named(snapshot, path, chosen)


EDITED: Final = "edited data"
"""The name of the sample whose data the reader has edited."""


def sample_to_show(snapshot: Snapshot, path: str, choice: RenderingChoice) -> Sample:
    """Return the data that the reader has chosen or edited. Raises like `chosen_sample`."""
    if choice.edited is not None:
        return Sample(EDITED, "this preview", dict(choice.edited))
    return chosen_sample(snapshot, path, choice.data)


def preview_job(snapshot: Snapshot, path: str, sample: Sample, choice: RenderingChoice) -> RenderJob:
    """Return the job that renders the file with a sample under the chosen limits.

    Raises UsageError like `job_for`.
    """
    job = job_for(
        snapshot,
        path,
        sample.data,
        token_limit=choice.limit,
        truncation_step=choice.step,
        with_stand_ins=True,
    )
    if job.evaluation is not None:
        row = choice.row + 1 if choice.row is not None else None
        job = replace(job, evaluation=replace(job.evaluation, row=row, meta_template=choice.meta_template))
    max_segments = None if choice.source_map else MAX_SEGMENTS
    return replace(job, with_source_map=True, max_segments=max_segments)
